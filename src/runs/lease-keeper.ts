// Keeps the leases of the runs that this process runs: the thread in lease-thread.ts renews them, this side says which,
// and tells the worker what came of it.
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import type { FromLeaseThread, LeaseThreadData, ToLeaseThread } from "./lease-thread.ts";
import type { CancelAction } from "./runs.sql.ts";

const SECOND = 1_000_000_000n;

export interface LeaseKeeper {
  /** Renews the lease from now on. `until`: when the claim's lease runs out at the earliest (`process.hrtime`). */
  hold(runId: string, token: string, until: bigint): void;
  drop(runId: string, token: string): void;
  /** Renews all of them now, which also tells what was cancelled. */
  renew(): void;
  close(): Promise<void>;
}

interface LeaseKeeperOptions extends Omit<LeaseThreadData, "renewedUntil"> {
  readonly log: Logger;
  /** Stop the run: it is another worker's (lost), its lease could not be renewed in time (late), a client cancelled it. */
  readonly onStop: (runId: string, reason: CancelAction | "lost" | "late") => void;
}

export function createLeaseKeeper({ log, onStop, ...options }: LeaseKeeperOptions): LeaseKeeper {
  const workerData: LeaseThreadData = { ...options, renewedUntil: new SharedArrayBuffer(8) };
  const renewedUntil = new BigInt64Array(workerData.renewedUntil);
  const length = BigInt(options.leaseSeconds) * SECOND;
  const leases = new Map<string, { token: string; since: bigint; until: bigint }>();
  let closing = false;
  let thread: Worker;

  const hear = (message: FromLeaseThread) => {
    if (message.kind === "failed") {
      log.warn(`leases cannot be renewed: ${message.message}`);
      return;
    }
    const held = new Map(message.held.map((row) => [row.run_id, row.cancel_action]));
    for (const { runId, token } of message.asked) {
      const lease = leases.get(runId);
      if (lease?.token !== token) continue;
      const action = held.get(runId);
      if (action === undefined) onStop(runId, "lost");
      else lease.until = message.until;
      if (action) onStop(runId, action);
    }
  };

  const start = () => {
    thread = new Worker(new URL("./lease-thread.ts", import.meta.url), { workerData });
    thread.on("message", hear);
    thread.on("error", (error) => {
      log.error(error, "the thread that renews leases has failed and is started again");
    });
    thread.once("exit", () => {
      if (closing) return;
      start();
      for (const [runId, { token }] of leases) send({ kind: "hold", runId, token });
    });
  };
  const send = (message: ToLeaseThread) => thread.postMessage(message);

  // Without a confirmed renewal a run stops before somebody else may start it.
  const margin = length / 6n;
  const stopLate = () => {
    const now = process.hrtime.bigint();
    // What the thread has told may still wait for its turn of the event loop, behind a graph that blocks it.
    const renewed = Atomics.load(renewedUntil, 0);
    for (const [runId, { since, until }] of leases) {
      const wasAsked = renewed - length > since + SECOND;
      if (now > until - margin && !(wasAsked && now < renewed - margin)) onStop(runId, "late");
    }
  };
  const check = setInterval(
    () => {
      send({ kind: "alive" });
      setImmediate(stopLate);
    },
    (options.leaseSeconds * 1_000) / 12,
  );

  start();
  return {
    hold(runId, token, until) {
      leases.set(runId, { token, since: process.hrtime.bigint(), until });
      send({ kind: "hold", runId, token });
    },
    drop(runId, token) {
      if (leases.get(runId)?.token === token) leases.delete(runId);
      send({ kind: "drop", runId, token });
    },
    renew: () => send({ kind: "renew" }),
    async close() {
      closing = true;
      clearInterval(check);
      await thread.terminate();
    },
  };
}
