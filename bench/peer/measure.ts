// Measures one cell on one server: what the clients saw, and what the processes used meanwhile.

import type { BenchServer } from "./bench-server.ts";
import type { Measured } from "./cell.ts";
import type { BenchDatabase } from "./database.ts";
import { usageOf } from "./process-tree.ts";

/** Times in milliseconds; usage and counts per run, but for the memory, which is what the server has afterwards. */
export interface Figures {
  readonly runsPerSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly firstEvent: number;
  readonly firstToken: number;
  readonly errors: number;
  readonly cpuMs: number;
  readonly rssBytes: number;
  /** NaN for a server without PostgreSQL, as are the counts. */
  readonly databaseCpuMs: number;
  readonly statements: number;
  readonly commits: number;
  readonly walBytes: number;
}

export async function measure(
  server: BenchServer,
  database: BenchDatabase | undefined,
  work: () => Promise<Measured>,
): Promise<Figures> {
  await server.clear();
  const before = await read(server, database);
  const measured = await work();
  const after = await read(server, database);
  const runs = measured.totals.length;
  if (runs === 0) throw new Error(`no run succeeded on the ${server.name}: ${measured.lastError}`);
  const perRun = (value: (reading: typeof before) => number | undefined) =>
    ((value(after) ?? Number.NaN) - (value(before) ?? Number.NaN)) / runs;
  return {
    runsPerSecond: runs / measured.seconds,
    p50: percentile(measured.totals, 0.5),
    p99: percentile(measured.totals, 0.99),
    firstEvent: percentile(measured.firstEvents, 0.5),
    firstToken: percentile(measured.firstTokens, 0.5),
    errors: measured.errors,
    cpuMs: perRun(({ own }) => own.cpuMs),
    rssBytes: after.own.rssBytes,
    databaseCpuMs: perRun(({ databaseCpuMs }) => databaseCpuMs),
    statements: perRun(({ counted }) => counted?.statements),
    commits: perRun(({ counted }) => counted?.commits),
    walBytes: perRun(({ counted }) => counted?.walBytes),
  };
}

const read = async (server: BenchServer, database: BenchDatabase | undefined) => ({
  own: usageOf(server.pid),
  databaseCpuMs: database && usageOf(database.pid).cpuMs,
  counted: await database?.counted(),
});

/** NaN when one of the values is. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
