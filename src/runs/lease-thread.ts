// The thread that renews a worker's leases, over a connection of its own: neither a graph that blocks the event loop
// nor a full pool lets a lease run out. It sees to it that a loop that stays blocked does not hold its runs for ever.
import { writeSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";
import { createDatabase } from "../db/database.ts";
import { type CancelAction, renewLeases } from "./runs.sql.ts";

export interface LeaseThreadData {
  readonly url: string;
  readonly leaseSeconds: number;
  readonly stuckSeconds: number;
  /** 8 bytes: until when the leases last that were renewed last (`process.hrtime`). Readable without a turn of the loop. */
  readonly renewedUntil: SharedArrayBuffer;
}

export type ToLeaseThread =
  | { readonly kind: "hold" | "drop"; readonly runId: string; readonly token: string }
  /** Also says that the main thread's event loop turns; `alive` says only that. */
  | { readonly kind: "renew" | "alive" };

export type FromLeaseThread =
  | {
      readonly kind: "renewed";
      readonly asked: readonly Lease[];
      readonly held: readonly { readonly run_id: string; readonly cancel_action: CancelAction | null }[];
      /** When the new leases run out at the earliest, in nanoseconds of `process.hrtime`. */
      readonly until: bigint;
    }
  | { readonly kind: "failed"; readonly message: string };

interface Lease {
  readonly runId: string;
  readonly token: string;
}

if (parentPort) keep(workerData as LeaseThreadData, parentPort);

function keep(
  { url, leaseSeconds, stuckSeconds, renewedUntil }: LeaseThreadData,
  main: NonNullable<typeof parentPort>,
): void {
  const intervalMs = (leaseSeconds * 1_000) / 3;
  const tell = (message: FromLeaseThread) => main.postMessage(message);
  const db = createDatabase({
    url,
    max: 1,
    connectionTimeoutMs: intervalMs,
    statementTimeoutMs: intervalMs,
    onError: (error) => tell({ kind: "failed", message: error.message }),
  });
  const leases = new Map<string, Lease>();
  let lastSign = performance.now();
  let lastTick = performance.now();

  const renew = async () => {
    const asked = [...leases.values()];
    if (asked.length === 0) return;
    const until = process.hrtime.bigint() + BigInt(leaseSeconds) * 1_000_000_000n;
    try {
      const held = await renewLeases(db, asked, leaseSeconds);
      Atomics.store(new BigInt64Array(renewedUntil), 0, until);
      tell({ kind: "renewed", asked, held, until });
    } catch (error) {
      tell({ kind: "failed", message: error instanceof Error ? error.message : String(error) });
    }
  };

  const watch = () => {
    const now = performance.now();
    // After a pause of the whole process the main thread has not had its turn either.
    if (now - lastTick > 2 * intervalMs) lastSign = now;
    lastTick = now;
    if (now - lastSign < stuckSeconds * 1_000 || leases.size === 0) return;
    const runs = [...leases.keys()].join(", ");
    writeSync(
      2,
      `Heddle ends: a graph has blocked the event loop for ${stuckSeconds} seconds. Its runs go on elsewhere, or after a restart: ${runs}\n`,
    );
    process.kill(process.pid, "SIGKILL");
  };

  main.on("message", (message: ToLeaseThread) => {
    lastSign = performance.now();
    if (message.kind === "renew") void renew();
    if (message.kind === "hold") leases.set(message.runId, message);
    if (message.kind === "drop" && leases.get(message.runId)?.token === message.token)
      leases.delete(message.runId);
  });
  setInterval(() => {
    watch();
    void renew();
  }, intervalMs);
}
