// The cells of the benchmark, and what a measurement of one is.
export interface Cell {
  readonly graph: "g1" | "g2";
  readonly kind: "wait" | "stream";
  readonly concurrency: number;
}

/** What the clients are told. */
export interface Load extends Cell {
  readonly url: string;
  readonly seconds: number;
}

/** What the clients saw. Times in milliseconds, one per run. */
export interface Measured {
  /** To the end of the last run. */
  readonly seconds: number;
  readonly totals: number[];
  /** NaN where nothing is streamed. */
  readonly firstEvents: number[];
  readonly firstTokens: number[];
  readonly errors: number;
  readonly lastError: string | undefined;
}

export const CELLS: readonly Cell[] = (["g1", "g2"] as const).flatMap((graph) =>
  (["wait", "stream"] as const).flatMap((kind) =>
    [1, 32, 128].map((concurrency) => ({ graph, kind, concurrency })),
  ),
);

export const nameOf = ({ graph, kind, concurrency }: Cell) => `${graph} ${kind} ${concurrency}`;
