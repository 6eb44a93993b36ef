// Named checkpoints that nobody has to ask for (document 003, §8): every so many steps, every so many seconds, or whenever
// the graph stops to ask, as the run's or the assistant's `configurable.checkpoint_frequency` says. One that cannot be
// stored is in the log, and does not end the run.
import type { Logger } from "pino";
import { z } from "zod";
import type { Checkpointer } from "../db/checkpointer.ts";
import { AppError } from "../errors.ts";
import type { Checkpoints, NewCheckpoint } from "./checkpoints.ts";
import type { CheckpointStorages } from "./storages.ts";

const schema = z.strictObject({
  /** After each step whose number this divides. */
  every_steps: z.int().min(1).optional(),
  every_seconds: z.number().min(1).max(86_400).optional(),
  on_interrupt: z.boolean().default(false),
  /** So many of a workflow's are kept, the newest; those that were asked for do not count. */
  keep: z.int().min(1).max(1_000).default(20),
  storage: z.string().optional(),
  workflow_id: z.string().min(1).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

/** More than these, and the run waits for them. */
const MAX_WAITING = 4;

interface Configured {
  readonly config?: { readonly configurable?: Readonly<Record<string, unknown>> | undefined } | undefined;
}

interface Run {
  readonly thread_id: string;
  readonly fencing_token: string;
  readonly kwargs: Configured;
}

/** Whether a run could follow the frequency it asks for. @throws AppError invalid_request, unknown_storage */
export function checkFrequency(storages: Pick<CheckpointStorages, "open">, run: Configured): void {
  const asked = toAsked(run);
  if (asked !== undefined) storages.open(asked.storage, { threadId: "" });
}

export function createFrequentSaves({
  checkpoints,
  checkpointer,
  storages,
  log,
}: {
  checkpoints: Pick<Checkpoints, "create" | "keepNewest">;
  checkpointer: Checkpointer;
  storages: Pick<CheckpointStorages, "open">;
  log: Logger;
}) {
  return ({ thread_id: threadId, fencing_token, kwargs }: Run) => {
    const asked = toAsked(kwargs);
    if (asked === undefined) return undefined;
    const { every_steps, every_seconds, on_interrupt, keep, storage, workflow_id, metadata } = asked;
    const place = { threadId, storage };
    storages.open(storage, place);

    let newest: string | undefined;
    let saved: string | undefined;
    let waiting = 0;
    let queue: Promise<void> = Promise.resolve();
    const save = (trigger: NewCheckpoint["trigger"], written: Promise<unknown>, id?: string) => {
      waiting++;
      queue = queue.then(async () => {
        try {
          await written;
          const made = await checkpoints.create(place, {
            workflowId: workflow_id,
            metadata,
            langgraphCheckpointId: id,
            trigger,
          });
          saved = made.langgraph_checkpoint_id;
          await checkpoints.keepNewest(place, made.workflow_id, keep);
        } catch (error) {
          log.warn({ err: error, thread_id: threadId }, "a checkpoint could not be stored");
        } finally {
          waiting--;
        }
      });
      return queue;
    };

    const stopWatching = checkpointer.watch(threadId, fencing_token, {
      onPut(ns, checkpoint, written, _versions, { source, step }) {
        if (ns !== "") return;
        newest = checkpoint.id;
        if (every_steps === undefined || source !== "loop" || step < 1 || step % every_steps !== 0) return;
        void save("steps", written, checkpoint.id);
      },
    });
    const timer =
      every_seconds === undefined
        ? undefined
        : setInterval(() => {
            if (newest !== saved && waiting === 0) void save("timer", Promise.resolve());
          }, every_seconds * 1_000);
    return {
      ready: async () => {
        if (waiting > MAX_WAITING) await queue;
      },
      interrupted: async () => {
        if (on_interrupt) await save("interrupt", Promise.resolve());
      },
      close: async () => {
        clearInterval(timer);
        stopWatching();
        await queue;
      },
    };
  };
}

function toAsked({ config }: Configured): z.output<typeof schema> | undefined {
  const asked = config?.configurable?.checkpoint_frequency;
  if (asked === undefined || asked === null) return undefined;
  const { data, error } = schema.safeParse(asked);
  if (data) return data;
  const [issue] = error.issues;
  const key = ["checkpoint_frequency", ...(issue?.path ?? [])].join(".");
  throw new AppError("invalid_request", `config.configurable.${key}: ${issue?.message}`);
}
