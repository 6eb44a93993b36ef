// Shapes of answers, for the document of the API (api/openapi.ts). Nothing is checked or cut by them when it is sent;
// test/api/openapi.test.ts compares them with what the server sends.
import { z } from "zod";
import { envelopeSchema } from "../../envelope/schema.ts";
import { jsonObject, uuid } from "./common.ts";

const time = z.iso.datetime();
const named = z.registry<{ id: string }>();
/** Shapes that the document has once, under their name. */
export const ANSWER_SHAPES = named;

/** What happens in runs; its own document has it in full (docs/envelope.schema.json). */
export const envelope = envelopeSchema.register(named, { id: "Envelope" });

const assistant = z
  .looseObject({
    assistant_id: uuid,
    graph_id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    config: jsonObject,
    context: z.unknown(),
    metadata: jsonObject,
    version: z.int(),
    created_at: time,
    updated_at: time.optional(),
  })
  .register(named, { id: "Assistant" });

const thread = z
  .looseObject({
    thread_id: uuid,
    status: z.enum(["idle", "busy", "interrupted", "error"]),
    metadata: jsonObject,
    config: jsonObject,
    values: z.unknown().optional(),
    interrupts: z.record(z.string(), z.array(z.unknown())).optional(),
    error: z.unknown().optional(),
    created_at: time,
    updated_at: time,
  })
  .register(named, { id: "Thread" });

const checkpoint = z
  .looseObject({
    thread_id: z.string(),
    checkpoint_id: z.string(),
    checkpoint_ns: z.string(),
    checkpoint_map: jsonObject.nullish(),
  })
  .register(named, { id: "Checkpoint" });

const threadState = z
  .looseObject({
    values: z.unknown(),
    next: z.array(z.string()),
    tasks: z.array(z.looseObject({ id: z.string(), name: z.string() })),
    metadata: jsonObject.optional(),
    created_at: z.string().nullable(),
    checkpoint: checkpoint.nullable(),
    parent_checkpoint: checkpoint.nullable(),
  })
  .register(named, { id: "ThreadState" });

const run = z
  .looseObject({
    run_id: uuid,
    thread_id: uuid,
    assistant_id: uuid,
    status: z.enum(["pending", "running", "success", "error", "timeout", "interrupted"]),
    metadata: jsonObject,
    kwargs: jsonObject,
    multitask_strategy: z.enum(["reject", "enqueue", "interrupt", "rollback"]),
    error: z.looseObject({ error: z.string(), message: z.string() }).optional(),
    created_at: time,
    updated_at: time,
  })
  .register(named, { id: "Run" });

const cron = z
  .looseObject({
    cron_id: uuid,
    assistant_id: uuid,
    thread_id: uuid.nullable(),
    schedule: z.string(),
    timezone: z.string().nullish(),
    end_time: z.string().nullable(),
    next_run_date: z.string().nullable(),
    enabled: z.boolean(),
    payload: jsonObject,
    metadata: jsonObject,
    created_at: time,
    updated_at: time,
  })
  .register(named, { id: "Cron" });

const item = z
  .looseObject({
    namespace: z.array(z.string()),
    key: z.string(),
    value: jsonObject,
    created_at: time,
    updated_at: time,
  })
  .register(named, { id: "StoreItem" });

const namedCheckpoint = {
  checkpoint_id: uuid,
  workflow_id: z.string(),
  thread_id: uuid,
  graph_id: z.string(),
  langgraph_checkpoint_id: z.string(),
  iteration_count: z.int(),
  metadata: jsonObject,
  trigger: z.enum(["request", "steps", "interrupt", "timer"]),
  version: z.int(),
  created_at: time,
};

const workflowCheckpoint = z
  .looseObject({
    ...namedCheckpoint,
    messages: z.record(z.string(), z.array(jsonObject)),
    shared_state: jsonObject,
    executor_states: z.record(z.string(), jsonObject),
    topology: z.object({ version: z.string(), executors: z.record(z.string(), z.array(z.string())) }),
  })
  .register(named, { id: "WorkflowCheckpoint" });

const versioned = { thread_id: uuid, version: z.int(), values: jsonObject };

/** Method and route → what it answers with 200. Routes that are not here answer some JSON. */
export const ANSWERS: Readonly<Record<string, z.ZodType>> = {
  "GET /ok": z.object({ ok: z.literal(true) }),
  "GET /info": z.looseObject({
    version: z.string(),
    langgraph_js_version: z.string(),
    context: z.literal("js"),
    flags: z.record(z.string(), z.unknown()),
  }),
  "POST /assistants": assistant,
  "POST /assistants/search": z.array(assistant),
  "GET /assistants/:assistant_id": assistant,
  "PATCH /assistants/:assistant_id": assistant,
  "POST /assistants/:assistant_id/latest": assistant,
  "POST /assistants/:assistant_id/versions": z.array(assistant),
  "POST /threads": thread,
  "POST /threads/search": z.array(thread),
  "GET /threads/:thread_id": thread,
  "PATCH /threads/:thread_id": thread,
  "POST /threads/:thread_id/copy": thread,
  "GET /threads/:thread_id/state": threadState,
  "POST /threads/:thread_id/state": z.looseObject({ checkpoint }),
  "GET /threads/:thread_id/state/:checkpoint_id": threadState,
  "POST /threads/:thread_id/state/checkpoint": threadState,
  "GET /threads/:thread_id/history": z.array(threadState),
  "POST /threads/:thread_id/history": z.array(threadState),
  "GET /sessions/:session_id": z.looseObject({
    service_thread_id: z.string().nullable(),
    chat_message_store_state: z
      .looseObject({ version: z.literal(1), messages: z.array(z.looseObject({ type: z.string() })) })
      .nullable(),
  }),
  "POST /threads/:thread_id/checkpoints": workflowCheckpoint,
  "GET /threads/:thread_id/checkpoints": z.array(
    z.looseObject({ ...namedCheckpoint, graph_version: z.string() }),
  ),
  "GET /threads/:thread_id/checkpoints/:workflow_checkpoint_id": workflowCheckpoint,
  "POST /threads/:thread_id/checkpoints/:workflow_checkpoint_id/restore": z.object({
    thread_id: uuid,
    checkpoint: z.object({ checkpoint_id: z.string(), checkpoint_ns: z.string() }),
    next: z.array(z.string()),
    interrupts: z.record(z.string(), z.array(z.unknown())),
  }),
  "GET /threads/:thread_id/conversation": z.looseObject({
    ...versioned,
    state_id: uuid.nullable(),
    created_at: time.nullable(),
    updated_at: time.nullable(),
  }),
  "PATCH /threads/:thread_id/conversation": z.looseObject({
    thread_id: uuid,
    state_id: uuid,
    version: z.int(),
  }),
  "GET /threads/:thread_id/messages/:message_id/state": z.looseObject({
    ...versioned,
    state_id: uuid,
    created_at: time,
    updated_at: time,
  }),
  "POST /threads/:thread_id/runs": run,
  "POST /runs": run,
  "POST /runs/batch": z.array(run),
  "GET /threads/:thread_id/runs": z.array(run),
  "GET /threads/:thread_id/runs/:run_id": run,
  "GET /runs/crons/:cron_id": cron,
  "PATCH /runs/crons/:cron_id": cron,
  "POST /runs/crons/search": z.array(cron),
  "GET /store/items": item.nullable(),
  "POST /store/items/search": z.looseObject({ items: z.array(item) }),
  "POST /store/namespaces": z.looseObject({ namespaces: z.array(z.array(z.string())) }),
};
