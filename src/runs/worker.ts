// The worker of this process: claims runs while it has room, renews their leases, stops them when it is told to.
//
// A run here is claimed (the database says `running`, with our token and a lease), executed, and ended. It leaves
// earlier when its lease could not be renewed in time or is another worker's (lost), when a client cancels it
// (interrupt, rollback), or when the process stops (shutdown: it goes back to the queue with its checkpoint).
import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import { StopRun } from "./execute-run.ts";
import { type CancelAction, type ClaimedRun, claimRun, releaseRun, renewLeases } from "./runs.sql.ts";

/** Workers that a run may end before it is given up. */
const MAX_CRASHES = 3;
/** How often the queue is asked without a wake-up: how late a run that another process took may start. */
const POLL_MS = 500;

export interface Worker {
  start(): void;
  /** There may be a run to claim. */
  wake(): void;
  /** Stops a run if it is running here. */
  stop(runId: string, action: CancelAction): void;
  /** Stops what runs here on the thread, which is gone, and waits until nothing of it writes any more. */
  abandonThread(threadId: string): Promise<void>;
  /** Runs now. */
  active(): number;
  /** Claims nothing more, waits `graceMs` for the running ones, gives the others back to the queue. */
  close(graceMs: number): Promise<void>;
}

interface Active {
  readonly run: ClaimedRun;
  readonly controller: AbortController;
  done: Promise<void>;
  /** When our clock says that the lease may have run out. */
  leaseEnds: number;
}

interface WorkerOptions {
  readonly db: Database;
  readonly log: Logger;
  readonly concurrency: number;
  readonly leaseSeconds: number;
  readonly execute: (run: ClaimedRun, signal: AbortSignal) => Promise<void>;
  /** A run was ended in the queue, because it has ended too many workers. */
  readonly onCrashed: (run: ClaimedRun) => void;
}

export function createWorker({
  db,
  log,
  concurrency,
  leaseSeconds,
  execute,
  onCrashed,
}: WorkerOptions): Worker {
  const owner = `${process.pid}-${randomUUID()}`;
  const active = new Map<string, Active>();
  let closing = false;
  let awake = false;
  let notify: () => void = () => undefined;
  let loop: Promise<void> | undefined;
  let renewal: NodeJS.Timeout | undefined;

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

  const launch = (run: ClaimedRun, leaseEnds: number) => {
    const controller = new AbortController();
    const entry: Active = { run, controller, leaseEnds, done: Promise.resolve() };
    active.set(run.run_id, entry);
    entry.done = execute(run, controller.signal).finally(() => {
      active.delete(run.run_id);
      wake();
    });
  };

  /** Claims one run; false when there is none, or no room. */
  const claim = async (): Promise<boolean> => {
    if (closing || active.size >= concurrency) return false;
    const leaseEnds = performance.now() + leaseSeconds * 1000;
    const run = await claimRun(db, { owner, leaseSeconds, maxCrashes: MAX_CRASHES });
    if (!run) return false;
    if (run.status === "error") onCrashed(run);
    else if (closing) await releaseRun(db, run.run_id, run.fencing_token);
    else launch(run, leaseEnds);
    return true;
  };

  const work = async () => {
    while (!closing) {
      try {
        while (await claim());
      } catch (error) {
        log.error(error, "runs cannot be claimed");
      }
      if (!closing) await sleep();
    }
  };

  const renew = async () => {
    const entries = [...active.values()];
    if (entries.length === 0) return;
    const leaseEnds = performance.now() + leaseSeconds * 1000;
    const runs = entries.map(({ run }) => ({ runId: run.run_id, token: run.fencing_token }));
    const rows = await renewLeases(db, runs, leaseSeconds);
    const renewed = new Map(rows.map((row) => [row.run_id, row.cancel_action]));
    for (const entry of entries) {
      const action = renewed.get(entry.run.run_id);
      if (action === undefined) entry.controller.abort(new StopRun("lost"));
      else entry.leaseEnds = leaseEnds;
      if (action) entry.controller.abort(new StopRun(action));
    }
  };

  const keepLeases = async () => {
    try {
      await renew();
    } catch (error) {
      log.error(error, "leases cannot be renewed");
    }
    // Without a confirmed renewal the run stops before somebody else may start it.
    const margin = (leaseSeconds * 1000) / 3;
    for (const entry of active.values()) {
      if (performance.now() > entry.leaseEnds - margin) entry.controller.abort(new StopRun("lost"));
    }
  };

  return {
    wake,
    active: () => active.size,
    start() {
      if (concurrency === 0) return;
      loop = work();
      renewal = setInterval(() => void keepLeases(), (leaseSeconds * 1000) / 3);
    },
    stop: (runId, action) => active.get(runId)?.controller.abort(new StopRun(action)),
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
      clearInterval(renewal);
    },
  };
}
