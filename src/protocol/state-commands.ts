// The commands that read: a thread's state, its checkpoints, the tree of a run's graphs.
import { isAppError } from "../errors.ts";
import { hasEnded, selectPage } from "../events/event-log.sql.ts";
import { isFields } from "../events/fields.ts";
import { readLogged } from "../events/stored-events.ts";
import { selectRunEnd, selectStreamedRuns } from "../events/thread-runs.sql.ts";
import type { ThreadState } from "../threads/thread-state.ts";
import type { ProtocolDeps, Sender } from "./deps.ts";
import { toRenderedRun, toTerminal } from "./follow-thread.ts";
import { getTree, listCheckpoints, parse, stateGet } from "./params.ts";
import { createRunRenderer } from "./render-run.ts";
import { ProtocolError } from "./responses.ts";

/** What is read of a run's log at a time. */
const PAGE = { limit: 500, bytes: 256 * 1024 };

/** Also finds out whether the thread is there for the sender. */
const readable = async ({ threads }: ProtocolDeps, sender: Sender, threadId: string) => {
  const scope = await sender.check("threads", "read", { thread_id: threadId });
  await threads.get(threadId, scope);
  return scope;
};

export async function readState(
  deps: ProtocolDeps,
  sender: Sender,
  threadId: string,
  params: unknown,
): Promise<unknown> {
  const { namespace = [], keys } = parse(stateGet, "state.get", params);
  await readable(deps, sender, threadId);
  const { values, checkpoint } = await deps.states
    .get(threadId, { checkpoint: toPlace(namespace) })
    .catch((error) => refuseNamespace(error, namespace));
  const shown =
    keys === undefined || !isFields(values)
      ? values
      : Object.fromEntries(Object.entries(values).filter(([key]) => keys.includes(key)));
  const at = checkpoint && { id: checkpoint.checkpoint_id, ns: checkpoint.checkpoint_ns };
  return { values: shown, ...(at ? { checkpoint: at } : {}) };
}

/** Newest first. */
export async function readCheckpoints(
  deps: ProtocolDeps,
  sender: Sender,
  threadId: string,
  params: unknown,
): Promise<unknown> {
  const { namespace = [], limit, before } = parse(listCheckpoints, "state.listCheckpoints", params);
  await readable(deps, sender, threadId);
  const history = await deps.states
    .history(threadId, {
      limit,
      checkpoint: toPlace(namespace),
      ...(before === undefined ? {} : { before }),
    })
    .catch((error) => refuseNamespace(error, namespace));
  return { checkpoints: history.map(toSummary) };
}

/** Of the run that is named, else of the newest. */
export async function readTree(
  deps: ProtocolDeps,
  sender: Sender,
  threadId: string,
  params: unknown,
): Promise<unknown> {
  const { run_id } = parse(getTree, "agent.getTree", params);
  const scope = await readable(deps, sender, threadId);
  const runs = await selectStreamedRuns(deps.db, { threadId, scope, from: 0 });
  const run = runs
    .flatMap((run) => (run.stream_base === null ? [] : [{ ...run, stream_base: run.stream_base }]))
    .findLast((run) => run_id === undefined || run.run_id === run_id);
  if (!run) throw new ProtocolError("no_such_run", "The thread has no such run, or it has not started yet.");
  const renderer = createRunRenderer(toRenderedRun(run));
  const [ended] = await selectRunEnd(deps.db, run.run_id);
  let page = await selectPage(deps.db, run.run_id, -1, PAGE);
  while (page && page.events.length > 0) {
    for (const event of page.events) renderer.render(readLogged(event));
    page = await selectPage(deps.db, run.run_id, page.events.at(-1)?.seq ?? 0, PAGE);
  }
  if (!ended || hasEnded(ended.status)) renderer.end(toTerminal(ended));
  return { tree: renderer.tree() };
}

const toPlace = (namespace: readonly string[]) =>
  namespace.length === 0 ? {} : { checkpoint_ns: namespace.join("|") };

function refuseNamespace(error: unknown, namespace: readonly string[]): never {
  if (
    namespace.length === 0 ||
    !isAppError(error) ||
    error.status >= 500 ||
    isAppError(error, "thread_not_found")
  )
    throw error;
  throw new ProtocolError("no_such_namespace", `The thread has no state in ${namespace.join("|")}.`);
}

function toSummary({ checkpoint, created_at, metadata }: ThreadState) {
  const { step, ...rest } = isFields(metadata) ? metadata : {};
  return {
    id: checkpoint?.checkpoint_id ?? "",
    timestamp: created_at ?? "",
    step: typeof step === "number" ? step : -1,
    metadata: rest,
  };
}
