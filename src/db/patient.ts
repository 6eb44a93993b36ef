// Waits for a database that is away: for the writes of a running run, which must not end because PostgreSQL restarts.
// Only for statements that may be sent twice: the first one may have been committed and its answer lost.
import pRetry from "p-retry";
import { isAppError } from "../errors.ts";
import type { Queryable } from "./database.ts";

/** A graph that blocks the event loop can use up all of the time in one attempt. */
const MIN_RETRIES = 3;

/** `maxMs`: how long to go on before `database_unavailable` is thrown; the time of the attempts counts. */
export const createPatient = (db: Queryable, maxMs: number): Queryable => ({
  query(text, values) {
    const began = performance.now();
    return pRetry(() => db.query(text, values), {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 50,
      maxTimeout: 1_000,
      randomize: true,
      shouldRetry: ({ error, retriesConsumed }) =>
        isAppError(error, "database_unavailable") &&
        (retriesConsumed < MIN_RETRIES || performance.now() - began < maxMs),
    });
  },
});
