// The tables of bench/README.md: medians over the rounds, and ratios within a round, so that a slow minute of the
// machine does not count.
import { type Cell, nameOf } from "./cell.ts";
import type { Figures } from "./measure.ts";

/** What one server did in one cell, round by round. */
export interface Result {
  readonly cell: Cell;
  readonly server: string;
  readonly rounds: readonly Figures[];
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = Number.NaN, high = low] = sorted.slice(Math.ceil(middle) - 1, Math.floor(middle) + 1);
  return (low + high) / 2;
}

/** Three digits; nothing for what was not measured. */
const show = (value: number, unit = "") =>
  Number.isFinite(value) ? `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)}${unit}` : "";

const COLUMNS: readonly [title: string, unit: string, value: (figures: Figures) => number][] = [
  ["runs/s", "", ({ runsPerSecond }) => runsPerSecond],
  ["p50", " ms", ({ p50 }) => p50],
  ["p99", " ms", ({ p99 }) => p99],
  ["first event", " ms", ({ firstEvent }) => firstEvent],
  ["first token", " ms", ({ firstToken }) => firstToken],
  ["CPU per run", " ms", ({ cpuMs }) => cpuMs],
  ["PostgreSQL's", " ms", ({ databaseCpuMs }) => databaseCpuMs],
  ["memory", " MB", ({ rssBytes }) => rssBytes / 1e6],
];

const COUNTS: readonly [title: string, unit: string, value: (figures: Figures) => number][] = [
  ["statements", "", ({ statements }) => statements],
  ["commits", "", ({ commits }) => commits],
  ["WAL", " kB", ({ walBytes }) => walBytes / 1e3],
];

const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
const head = (titles: readonly string[]) => `${row(titles)}\n${row(titles.map(() => "---"))}`;

export function peerTable(results: readonly Result[]): string {
  const lines = results.map(({ cell, server, rounds }) => {
    const peer = results.find((other) => nameOf(other.cell) === nameOf(cell) && other.server !== server);
    const values = COLUMNS.map(([, unit, value]) => show(median(rounds.map(value)), unit));
    const errors = rounds.reduce((sum, { errors }) => sum + errors, 0);
    return row([
      nameOf(cell),
      server,
      ...values,
      String(errors),
      server === "Heddle" ? ratio(rounds, peer) : "",
    ]);
  });
  const titles = ["", "", ...COLUMNS.map(([title]) => title), "errors", "runs/s, ratio (min–max)"];
  return [head(titles), ...lines].join("\n");
}

function ratio(rounds: readonly Figures[], peer: Result | undefined): string {
  if (!peer) return "";
  const ratios = rounds.map(
    (figures, i) => figures.runsPerSecond / (peer.rounds[i]?.runsPerSecond ?? Number.NaN),
  );
  return `${show(median(ratios))} (${show(Math.min(...ratios))}–${show(Math.max(...ratios))})`;
}

/** What Heddle asked of PostgreSQL per run, its polls and lease renewals in it. */
export function databaseTable(results: readonly Result[]): string {
  const lines = results
    .filter(({ server }) => server === "Heddle")
    .map(({ cell, rounds }) =>
      row([nameOf(cell), ...COUNTS.map(([, unit, value]) => show(median(rounds.map(value)), unit))]),
    );
  return [head(["", ...COUNTS.map(([title]) => title)]), ...lines].join("\n");
}
