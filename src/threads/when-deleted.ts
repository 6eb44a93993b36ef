// Waits for a thread that is being deleted: whoever makes one with the same id gets it as soon as nothing of the old one
// is left.
import pRetry from "p-retry";
import { isAppError } from "../errors.ts";

/** As long as a lock is waited for. */
const PATIENCE_MS = 5_000;

/** `make` is tried again, so it must leave nothing behind when it fails. @throws AppError thread_being_deleted, later */
export const whenDeleted = <Result>(make: () => Promise<Result>): Promise<Result> =>
  pRetry(make, {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 20,
    maxTimeout: 250,
    maxRetryTime: PATIENCE_MS,
    shouldRetry: ({ error }) => isAppError(error, "thread_being_deleted"),
  });
