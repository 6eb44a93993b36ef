// Points in a run's life at which a server can be killed. `RIG_CRASH=name@n` kills the process at the nth time it gets
// there. When the source changes, only the anchors here (and in mutants.ts) have to follow.
import type { Patch } from "./patch.ts";

/** Who gets there: a server that clients talk to, one that runs runs, one that is told to stop, that starts, or that does this. */
type Reached =
  | "request"
  | "run"
  | "cancel"
  | "rollback"
  | "release"
  | "delete"
  | "update"
  | "start"
  | "cron"
  | "webhook"
  | "conversation"
  | "session"
  | "checkpoint";

interface CrashPoint extends Patch {
  readonly by: Reached;
}

const before = (name: string, by: Reached, file: string, find: string): [string, CrashPoint] => [
  name,
  { by, file, find, put: `globalThis.rigCrash?.(${JSON.stringify(name)}); $&` },
];
const after = (name: string, by: Reached, file: string, find: string): [string, CrashPoint] => [
  name,
  { by, file, find, put: `$& globalThis.rigCrash?.(${JSON.stringify(name)});` },
];

const EXECUTE = "src/runs/execute-run.ts";
const SAVER = "src/db/checkpointer.ts";
const LOG = "src/events/event-log.ts";
const RUNS = "src/runs/runs.ts";
const CHECKPOINTS = "src/checkpoints/checkpoints.ts";
const DELIVER = "src/webhooks/deliver.ts";
const WORKER = "src/runs/worker.ts";

export const CRASH_POINTS: ReadonlyMap<string, CrashPoint> = new Map([
  after("run-inserted", "request", "src/runs/create-run.ts", "if (!row) throw researchInProgress();"),
  before("before-add", "request", "src/runs/create-run.ts", "const [row] = await addRun("),
  after(
    "after-add",
    "request",
    "src/runs/create-run.ts",
    "await addRun(db, { version: thread.version, metadata: identity, config }, run);",
  ),
  before("run-committed", "request", RUNS, "announce(created, request.multitaskStrategy);"),
  before("before-commit", "request", "src/db/database.ts", 'await tx.query("commit");'),
  after("after-commit", "request", "src/db/database.ts", 'await tx.query("commit");'),
  after("after-claim", "run", WORKER, "if (!run) return false;"),
  after("after-renewal", "run", "src/runs/lease-keeper.ts", "else lease.until = message.until;"),
  before("before-first-event", "run", EXECUTE, 'writer.append("metadata"'),
  before("before-put", "run", SAVER, "if (!(await storeBatch("),
  after("after-put", "run", SAVER, "throw new FencedError(place.threadId);"),
  before("before-put-writes", "run", SAVER, "const isSpecial = writes.every("),
  after("after-put-writes", "run", SAVER, "throw new FencedError(threadId);"),
  before("before-event-flush", "run", LOG, "owned = await insertEvents(db, events);"),
  after("after-event-flush", "run", LOG, "owned = await insertEvents(db, events);"),
  before("before-finish", "run", EXECUTE, "const result = await finishRun(patient, {"),
  before("after-finish", "run", EXECUTE, 'if (result === "rollback") throw new StopRun("rollback");'),
  after("after-last-event", "run", EXECUTE, "writer.ended(events);"),
  after(
    "cancel-requested",
    "cancel",
    "src/runs/stop-runs.ts",
    "await requestCancel(tx, [runId], action, reason);",
  ),
  before("cancel-committed", "cancel", RUNS, "worker.stop(runId, action);\n"),
  after(
    "rolling-back",
    "rollback",
    EXECUTE,
    "await deleteRunWithCheckpoints(tx, { threadId: thread_id, runId: run_id, token });",
  ),
  before("rolled-back", "rollback", EXECUTE, 'log.info({ run_id }, "run rolled back");'),
  before("before-release", "release", EXECUTE, "await releaseRun(patient, run);\n    log.info("),
  before("after-release", "release", EXECUTE, 'log.info({ run_id }, "run given back to the queue");'),
  before("deleting-thread", "delete", "src/threads/threads.ts", "const [gone] = taken ?"),
  before("updating-state", "update", "src/threads/update-state.ts", "return await graph.bulkUpdateState("),
  before("cron-run-made", "cron", "src/crons/fire.ts", 'const failure = "error" in result'),
  after("cron-fired", "cron", "src/crons/fire.ts", "if (!fired) return false;"),
  after("webhook-taken", "webhook", DELIVER, "if (!webhook) return false;"),
  before("webhook-told", "webhook", DELIVER, "await deleteWebhook(db, run_id);"),
  after(
    "patch-stored",
    "conversation",
    "src/conversations/conversations.ts",
    "const row = await enqueue({ ...change, write: (statement) => patchConversation(on, statement) });",
  ),
  after(
    "session-kept",
    "session",
    "src/sessions/postgres-message-store.ts",
    "check(await insertMessages(tx, key, fence, messages.map(toRow)));",
  ),
  before("checkpoint-taken", "checkpoint", CHECKPOINTS, "await storage.save(checkpoint);"),
  after("checkpoint-saved", "checkpoint", CHECKPOINTS, "await storage.save(checkpoint);"),
  before("migrating", "start", "src/db/migrate.ts", "await tx.query(migration.sql);"),
  before("migrated", "start", "src/db/migrate.ts", "return missing.map((migration) => migration.name);"),
]);
