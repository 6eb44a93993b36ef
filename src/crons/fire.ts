// Fires crons: makes the run of each that is due. The run and the next date are one transaction, in which the cron's row
// is locked: so a firing makes one run, however many servers look, and none is lost when one dies.
// What was missed while no server ran is made up for by one run.
import type { Logger } from "pino";
import type { Database, Queryable } from "../db/database.ts";
import { AppError, isAppError } from "../errors.ts";
import type { CreatedRun, RunRequest } from "../runs/create-run.ts";
import type { Runs } from "../runs/runs.ts";
import { type DueCron, lockDueCron, moveOn, selectWait, startAttempt, undoAttempt } from "./fire.sql.ts";
import { nextRun } from "./schedule.ts";

/** How late a cron may be that another server has made or changed. */
const POLL_MS = 5_000;

export interface FireOptions {
  readonly db: Database;
  readonly runs: Pick<Runs, "createIn" | "announce">;
  /** From a stored request body to a run. @throws AppError invalid_request */
  readonly toRequest: (body: object, threadId: string | undefined) => RunRequest;
  readonly log: Logger;
}

export interface Firing {
  /** A cron of this server may be due earlier than the others. */
  wake(): void;
  close(): Promise<void>;
}

export function startFiring(options: FireOptions): Firing {
  const { db, log } = options;
  let closing = false;
  let awake = false;
  let notify: () => void = () => undefined;

  const sleep = async (ms: number) => {
    if (awake) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    notify = resolve;
    await promise;
    clearTimeout(timer);
  };

  const work = async () => {
    while (!closing) {
      let wait = POLL_MS;
      awake = false;
      try {
        while (!closing && (await fireNext(options)));
        const seconds = await selectWait(db);
        if (seconds !== undefined) wait = Math.min(wait, Math.max(seconds * 1_000, 100));
      } catch (error) {
        log.error(error, "crons cannot be fired");
      }
      if (!closing) await sleep(wait);
    }
  };
  const loop = work();

  const wake = () => {
    awake = true;
    notify();
  };
  return {
    wake,
    async close() {
      closing = true;
      wake();
      await loop;
    },
  };
}

/** Fires one cron that is due; false when there is none. */
export async function fireNext({ db, runs, toRequest, log }: FireOptions): Promise<boolean> {
  const fired = await db.transaction(async (tx) => {
    const cron = await lockDueCron(tx);
    if (!cron) return undefined;
    const result = await attempt(tx, () => {
      const request = toRunRequest(cron, toRequest);
      return runs.createIn(tx, request).then((created) => ({ created, request }));
    });
    const failure = "error" in result ? { at: cron.now, message: toMessage(result.error) } : null;
    await moveOn(tx, cron.cron_id, { next: toNext(cron), failure });
    return { cron, result };
  });
  if (!fired) return false;
  const { cron, result } = fired;
  const { cron_id, due } = cron;
  if ("error" in result) log.warn({ cron_id, due, err: result.error }, "cron has made no run");
  else {
    const { created, request } = result.value;
    runs.announce(created, request.multitaskStrategy);
    log.info({ cron_id, due, run_id: created.run.run_id }, "cron fired");
  }
  return true;
}

function toRunRequest(cron: DueCron, toRequest: FireOptions["toRequest"]): RunRequest {
  const { cron_id, assistant_id, thread_id } = cron;
  const request = toRequest({ ...cron.payload, assistant_id }, thread_id ?? undefined);
  return {
    ...request,
    metadata: { ...request.metadata, cron_id },
    ifNotExists: "reject",
    onCompletion: cron.on_run_completed ?? "keep",
    caller: cron.caller ?? undefined,
    scope: cron.thread_scope ?? undefined,
    assistantScope: cron.assistant_scope ?? undefined,
  };
}

/** A schedule that an earlier version took and this one does not: it has come to its end. */
function toNext(cron: DueCron): Date | null {
  try {
    return nextRun(cron, cron.now);
  } catch {
    return null;
  }
}

/**
 * What fails here fails again at once: it must not keep the other crons from firing, so it is noted instead. Not so when
 * the database is away, or has ended the transaction in favour of another. @throws those
 */
async function attempt(
  tx: Queryable,
  work: () => Promise<{ created: CreatedRun; request: RunRequest }>,
): Promise<{ value: { created: CreatedRun; request: RunRequest } } | { error: unknown }> {
  await startAttempt(tx);
  try {
    return { value: await work() };
  } catch (error) {
    const lost = error instanceof Error && "code" in error && /^40/.test(String(error.code));
    if (lost || isAppError(error, "database_unavailable")) throw error;
    await undoAttempt(tx);
    return { error };
  }
}

const toMessage = (error: unknown) =>
  error instanceof AppError ? error.message : "The run could not be made; the server's log says why.";
