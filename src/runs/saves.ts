// What makes named checkpoints while a run is running, when its configuration asks for them (`src/checkpoints/frequency.ts`).
import type { ClaimedRun } from "./runs.sql.ts";

export interface Saves {
  /** Resolves when few enough of them are still to be stored. */
  ready(): Promise<void>;
  /** The run has stopped to ask. Resolves when that is stored. */
  interrupted(): Promise<void>;
  /** Resolves when all are stored. */
  close(): Promise<void>;
}

/** Undefined: the run asks for none. @throws Error when what it asks for is not what can be done */
export type OpenSaves = (run: ClaimedRun) => Saves | undefined;
