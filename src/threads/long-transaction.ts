// A transaction whose statements may take long: they concern all of a thread's checkpoints.
import type { Database, Queryable } from "../db/database.ts";

const TIMEOUT_MS = 600_000;

export const inLongTransaction = <Result>(
  db: Database,
  work: (tx: Queryable) => Promise<Result>,
): Promise<Result> =>
  db.transaction(
    async (tx) => {
      await tx.query(`set local statement_timeout = ${TIMEOUT_MS}`);
      return work(tx);
    },
    { timeoutMs: TIMEOUT_MS },
  );
