// The worker of this process: claims runs while it has room, has their leases kept, stops them when it is told to.
//
// A run here is claimed (the database says `running`, with our token and a lease), executed, and ended. It leaves
// earlier when it is another worker's (lost), when a client cancels it (interrupt, rollback), or when its lease could
// not be renewed in time (late) or the process stops (shutdown): then it goes back to the queue with its checkpoint.
import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import { StopRun } from "./execute-run.ts";
import { createLeaseKeeper, type LeaseKeeper } from "./lease-keeper.ts";
import { createOwner, isGone } from "./owner.ts";
import {
  type CancelAction,
  type ClaimedRun,
  claimRun,
  endLeases,
  releaseRun,
  selectOwners,
} from "./runs.sql.ts";

/** A run that may have ended this many workers does not share one with another such run: only one of them is to blame. */
const SUSPICIOUS_CRASHES = 2;
/** How often the queue is asked without a wake-up: how late a run that another process took may start. */
const POLL_MS = 500;

export interface Worker {
  start(): void;
  /** There may be a run to claim. */
  wake(): void;
  /** Whether a run that is added now can start here at once. */
  hasRoom(): boolean;
  /** A run here may have been cancelled elsewhere: asks now instead of at the next renewal. */
  check(runId: string): void;
  /** Stops a run if it is running here. */
  stop(runId: string, action: CancelAction): void;
  /** Stops what runs here on the thread, which is gone, and waits until nothing of it writes any more. */
  abandonThread(threadId: string): Promise<void>;
  /** Runs now. */
  active(): number;
  /** Whether the run is running here. */
  has(runId: string): boolean;
  /** Claims nothing more, waits `graceMs` for the running ones, gives the others back to the queue. */
  close(graceMs: number): Promise<void>;
}

interface Active {
  readonly run: ClaimedRun;
  readonly controller: AbortController;
  done: Promise<void>;
}

interface WorkerOptions {
  readonly db: Database;
  /** For the connection that renews leases. */
  readonly databaseUrl: string;
  readonly log: Logger;
  readonly concurrency: number;
  readonly leaseSeconds: number;
  /** Seconds that the event loop may be blocked before the process ends. */
  readonly stuckSeconds: number;
  /** Workers that a run may end before it is given up. */
  readonly maxCrashes: number;
  readonly execute: (run: ClaimedRun, signal: AbortSignal) => Promise<void>;
  /** A run was ended in the queue, because it has ended too many workers. */
  readonly onCrashed: (run: ClaimedRun) => void;
}

export function createWorker({
  db,
  databaseUrl,
  log,
  concurrency,
  leaseSeconds,
  stuckSeconds,
  maxCrashes,
  execute,
  onCrashed,
}: WorkerOptions): Worker {
  const owner = createOwner();
  const active = new Map<string, Active>();
  /** Cancelled while the answer to a claim, which may be for that run, was on its way. */
  const stopped = new Map<string, CancelAction>();
  let claiming = false;
  let closing = false;
  let awake = false;
  let notify: () => void = () => undefined;
  let loop: Promise<void> | undefined;
  let leases: LeaseKeeper | undefined;

  const wake = () => {
    awake = true;
    notify();
  };

  const sleep = async () => {
    if (!awake) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, POLL_MS);
      notify = resolve;
      await promise;
      clearTimeout(timer);
    }
    awake = false;
  };

  const stop = (runId: string, reason: CancelAction | "lost" | "late") => {
    if (claiming && reason !== "lost" && reason !== "late") stopped.set(runId, reason);
    active.get(runId)?.controller.abort(new StopRun(reason));
  };

  const launch = (run: ClaimedRun, until: bigint) => {
    const { run_id, fencing_token } = run;
    const controller = new AbortController();
    const entry: Active = { run, controller, done: Promise.resolve() };
    // Our own earlier attempt, whose lease ran out unnoticed: it has lost the run as to anybody else.
    active.get(run_id)?.controller.abort(new StopRun("lost"));
    active.set(run_id, entry);
    leases?.hold(run_id, fencing_token, until);
    const action = run.cancel_action ?? stopped.get(run_id);
    if (action) controller.abort(new StopRun(action));
    entry.done = execute(run, controller.signal).finally(() => {
      leases?.drop(run_id, fencing_token);
      if (active.get(run_id) === entry) active.delete(run_id);
      wake();
    });
  };

  /** Claims one run; false when there is none, or no room. */
  const claim = async (): Promise<boolean> => {
    if (closing || active.size >= concurrency) return false;
    const until = process.hrtime.bigint() + BigInt(leaseSeconds) * 1_000_000_000n;
    const careful = [...active.values()].some(({ run }) => run.crashes >= SUSPICIOUS_CRASHES);
    stopped.clear();
    claiming = true;
    const run = await claimRun(db, {
      owner,
      leaseSeconds,
      maxCrashes,
      ...(careful ? { belowCrashes: SUSPICIOUS_CRASHES } : {}),
    }).finally(() => {
      claiming = false;
    });
    if (!run) return false;
    if (run.status === "error") onCrashed(run);
    else if (closing) await releaseRun(db, run);
    else launch(run, until);
    return true;
  };

  /** After a crash of this machine's processes nobody has to wait for their leases. */
  const adoptOrphans = async () => {
    const owners = await selectOwners(db);
    const gone = owners.map((row) => row.lease_owner).filter(isGone);
    if (gone.length === 0) return;
    const runs = await endLeases(db, gone);
    log.warn({ runs: runs.length }, "runs of a server that has ended are taken over");
  };

  const work = async () => {
    await adoptOrphans().catch((error: unknown) => log.error(error, "runs cannot be taken over at once"));
    while (!closing) {
      try {
        while (await claim());
      } catch (error) {
        log.error(error, "runs cannot be claimed");
      }
      if (!closing) await sleep();
    }
  };

  return {
    wake,
    active: () => active.size,
    has: (runId) => active.has(runId),
    hasRoom: () => !closing && active.size < concurrency,
    check(runId) {
      if (active.has(runId)) leases?.renew();
    },
    start() {
      if (concurrency === 0) return;
      leases = createLeaseKeeper({ url: databaseUrl, leaseSeconds, stuckSeconds, log, onStop: stop });
      loop = work();
    },
    stop,
    async abandonThread(threadId) {
      const entries = [...active.values()].filter(({ run }) => run.thread_id === threadId);
      for (const { controller } of entries) controller.abort(new StopRun("lost"));
      await Promise.all(entries.map(({ done }) => done));
    },
    async close(graceMs) {
      closing = true;
      notify();
      await loop;
      const finished = () => Promise.all([...active.values()].map(({ done }) => done));
      const { promise: timeUp, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, graceMs);
      await Promise.race([finished(), timeUp]);
      clearTimeout(timer);
      for (const { controller } of active.values()) controller.abort(new StopRun("shutdown"));
      await finished();
      await leases?.close();
    },
  };
}
