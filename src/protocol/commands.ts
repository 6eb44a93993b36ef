// The commands of the thread protocol that concern a thread and its runs, whatever they come over. What they rest on is
// in the database: a thread's assistant and its interrupts are known to every server, also after a restart.
import type { z } from "zod";
import type { Scope } from "../db/scope.ts";
import { isAppError } from "../errors.ts";
import { isFields } from "../events/fields.ts";
import type { RunRequest } from "../runs/create-run.ts";
import type { ThreadRow } from "../threads/threads.sql.ts";
import type { ProtocolDeps, Sender } from "./deps.ts";
import { toAnswers } from "./follow-thread.ts";
import { inputRespond, parse, runStart, stateFork } from "./params.ts";
import { selectAppliedSeq } from "./protocol.sql.ts";
import { ProtocolError, type Success } from "./responses.ts";
import { readCheckpoints, readState, readTree } from "./state-commands.ts";

export interface Command {
  readonly id: number;
  readonly method: string;
  readonly params?: Record<string, unknown> | undefined;
}

/** All that the frames are made of. With `values` come the places of the states in the history, as `checkpoints`. */
const STREAM_MODES = ["values", "updates", "messages-tuple", "custom", "tasks", "tools"] as const;

type Wanted = Pick<RunRequest, "assistantId" | "input" | "multitaskStrategy"> &
  Partial<Pick<RunRequest, "command" | "config" | "metadata" | "strictResume">>;

/** @throws ProtocolError, AppError */
export async function runCommand(
  deps: ProtocolDeps,
  sender: Sender,
  threadId: string,
  { id, method, params }: Command,
): Promise<Success> {
  const meta = await readMeta(deps, sender, threadId);
  const result = await carryOut(deps, sender, threadId, method, params);
  return { type: "success", id, result, meta };
}

/**
 * To be read before the command is carried out: what it starts has higher numbers. A thread that the sender may not read
 * is as one that is not there.
 */
export async function readMeta(
  { db }: ProtocolDeps,
  sender: Sender,
  threadId: string,
): Promise<Success["meta"]> {
  const scope = await sender.check("threads", "read", { thread_id: threadId }).catch((error: unknown) => {
    if (!isAppError(error, "forbidden")) throw error;
    return { $either: [] };
  });
  return { thread_id: threadId, applied_through_seq: await selectAppliedSeq(db, threadId, scope) };
}

async function carryOut(
  deps: ProtocolDeps,
  sender: Sender,
  threadId: string,
  method: string,
  params: unknown,
): Promise<unknown> {
  switch (method) {
    case "run.start":
      return startRun(deps, sender, threadId, parse(runStart, method, params));
    case "input.respond":
      return respond(deps, sender, threadId, parse(inputRespond, method, params));
    case "state.get":
      return readState(deps, sender, threadId, params);
    case "state.listCheckpoints":
      return readCheckpoints(deps, sender, threadId, params);
    case "state.fork":
      return fork(deps, sender, threadId, parse(stateFork, method, params));
    case "agent.getTree":
      return readTree(deps, sender, threadId, params);
    case "input.inject":
      throw new ProtocolError(
        "not_supported",
        "A message cannot be put into a running graph: start a run with it.",
      );
    case "subscription.reconnect":
      throw new ProtocolError("not_supported", "Subscribe again: everything is replayed.");
    case "subscription.subscribe":
      throw new ProtocolError(
        "not_supported",
        "Over HTTP, POST /threads/:thread_id/stream/events is the subscription.",
      );
    case "subscription.unsubscribe":
      throw new ProtocolError("no_such_subscription", "Over HTTP, a subscription ends with its connection.");
    default:
      throw new ProtocolError("unknown_command", `There is no command ${method}.`);
  }
}

/** Input for a thread that waits for an answer is the answer. */
async function startRun(
  deps: ProtocolDeps,
  sender: Sender,
  threadId: string,
  params: z.output<typeof runStart>,
): Promise<unknown> {
  const { assistant_id: assistantId, config, metadata } = params;
  const input = params.input ?? null;
  const wanted = {
    assistantId,
    config,
    metadata,
    multitaskStrategy: params.multitask_strategy ?? params.multitaskStrategy ?? "enqueue",
  };
  const run = await create(deps, sender, threadId, { ...wanted, input }, async (request) => {
    const thread = await findThread(deps, threadId, request.scope);
    await checkBinding(deps, thread, request);
    const [first, ...more] = await readPending(deps, thread, request.checkpoint?.checkpoint_id);
    const { input } = request;
    if (input === null || first === undefined) return request;
    // By its id, so that those who watch are told which question is answered.
    const isPlain = more.length === 0 && toAnswers(input).length === 0;
    return { ...request, input: null, command: { resume: isPlain ? { [first]: input } : input } };
  });
  return { run_id: run.run_id };
}

async function respond(
  deps: ProtocolDeps,
  sender: Sender,
  threadId: string,
  params: z.output<typeof inputRespond>,
): Promise<unknown> {
  const { answers, update, goto, config, metadata, strict_resume } = params;
  const resume = Object.fromEntries(answers.map((answer) => [answer.interrupt_id, answer.response ?? null]));
  // What is no interrupt's id would be taken for a part of the answer to whatever waits.
  const strictResume = strict_resume === true && toAnswers(resume).length > 0;
  const scope = await sender.check("threads", "read", { thread_id: threadId });
  const thread = await deps.threads.get(threadId, scope);
  const { assistant_id } = thread.metadata;
  if (typeof assistant_id !== "string") {
    throw new ProtocolError("no_such_run", "Nothing has run on the thread yet: send run.start first.");
  }
  if (!strictResume) checkAnswers(Object.keys(resume), await readPending(deps, thread, undefined));
  await create(deps, sender, threadId, {
    assistantId: assistant_id,
    input: null,
    command: { resume, update, goto },
    config,
    metadata,
    strictResume,
    // Of two answers to one question the first counts.
    multitaskStrategy: "reject",
  });
  return {};
}

function checkAnswers(interruptIds: readonly string[], pending: readonly string[]): void {
  if (pending.length === 0) {
    throw new ProtocolError("invalid_argument", "The thread does not wait for an answer.");
  }
  const unknown = interruptIds.find((id) => !pending.includes(id));
  if (unknown === undefined) return;
  throw new ProtocolError("no_such_interrupt", `The thread does not wait for an answer to ${unknown}.`);
}

async function fork(
  deps: ProtocolDeps,
  sender: Sender,
  threadId: string,
  { checkpoint_id, input, config }: z.output<typeof stateFork>,
): Promise<unknown> {
  const scope = await sender.check("threads", "read", { thread_id: threadId });
  const { metadata } = await deps.threads.get(threadId, scope);
  if (typeof metadata.assistant_id !== "string") {
    throw new ProtocolError("no_such_run", "Nothing has run on the thread yet.");
  }
  const run = await create(deps, sender, threadId, {
    assistantId: metadata.assistant_id,
    input: input ?? null,
    config: { ...config, configurable: { ...config?.configurable, checkpoint_id } },
    multitaskStrategy: "enqueue",
  });
  return { run_id: run.run_id, thread_id: threadId };
}

/** Creates a run as the REST routes do, with all that the frames are made of. */
async function create(
  { runs }: ProtocolDeps,
  sender: Sender,
  threadId: string,
  wanted: Wanted,
  prepare: (request: RunRequest) => Promise<RunRequest> = async (request) => request,
) {
  const value = {
    thread_id: threadId,
    assistant_id: wanted.assistantId,
    metadata: wanted.metadata ?? {},
    kwargs: { input: wanted.input, command: wanted.command, config: wanted.config },
    multitask_strategy: wanted.multitaskStrategy,
    if_not_exists: "create",
  };
  const assistantScope = await sender.runnable(wanted.assistantId);
  const scope = await sender.check("threads", "create_run", value);
  // The rules may have changed what is asked.
  const { input, command, config } = value.kwargs;
  const { checkpoint_id, checkpoint_ns, checkpoint_map, ...configurable } = config?.configurable ?? {};
  const request = await prepare({
    ...wanted,
    input,
    command,
    metadata: value.metadata,
    config: { ...config, configurable },
    checkpoint:
      typeof checkpoint_id === "string"
        ? {
            checkpoint_id,
            ...(typeof checkpoint_ns === "string" ? { checkpoint_ns } : {}),
            ...(checkpoint_map === undefined ? {} : { checkpoint_map }),
          }
        : undefined,
    threadId,
    scope,
    assistantScope,
    caller: sender.caller,
    headers: sender.headers,
    streamMode: STREAM_MODES,
    streamSubgraphs: true,
    transform: true,
    ifNotExists: "create",
    onCompletion: "keep",
    afterSeconds: 0,
  });
  return (await runs.create(request)).run;
}

/** Undefined: it is not there yet, and the run makes it. */
const findThread = ({ threads }: ProtocolDeps, threadId: string, scope: Scope) =>
  threads.get(threadId, scope).catch((error: unknown) => {
    if (!isAppError(error, "thread_not_found")) throw error;
    return undefined;
  });

/** A thread stays with the assistant that it has run. */
async function checkBinding(
  { assistants }: ProtocolDeps,
  thread: ThreadRow | undefined,
  { assistantId, assistantScope }: RunRequest,
): Promise<void> {
  const bound = thread?.metadata.assistant_id;
  if (typeof bound !== "string") return;
  const { assistant_id } = await assistants.get(assistantId, assistantScope);
  if (assistant_id === bound) return;
  throw new ProtocolError(
    "invalid_argument",
    `Thread ${thread?.thread_id} is bound to assistant ${bound}; it cannot run ${assistantId}.`,
  );
}

/** Ids of the interrupts that wait for an answer, at the checkpoint that a run would start from. */
async function readPending(
  { states }: ProtocolDeps,
  thread: ThreadRow | undefined,
  checkpointId: unknown,
): Promise<string[]> {
  if (typeof checkpointId === "string") {
    if (!thread) throw new ProtocolError("no_such_checkpoint", `Checkpoint ${checkpointId} not found`);
  } else if (thread?.status !== "interrupted") return [];
  const checkpoint = typeof checkpointId === "string" ? { checkpoint_id: checkpointId } : {};
  const { interrupts } = await states.get(thread.thread_id, { checkpoint });
  return interrupts.flatMap((interrupt) =>
    isFields(interrupt) && typeof interrupt.id === "string" ? [interrupt.id] : [],
  );
}
