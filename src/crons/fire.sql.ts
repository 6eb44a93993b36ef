// The statements by which crons fire.
import type { Queryable } from "../db/database.ts";
import type { CronRow, Owner } from "./crons.sql.ts";

export type DueCron = Pick<
  CronRow,
  | "cron_id"
  | "assistant_id"
  | "thread_id"
  | "on_run_completed"
  | "end_time"
  | "schedule"
  | "timezone"
  | "payload"
> & {
  readonly caller: Owner | null;
  readonly thread_scope: Record<string, unknown> | null;
  readonly assistant_scope: Record<string, unknown> | null;
  /** The time it is due for. */
  readonly due: Date;
  /** The database's clock. */
  readonly now: Date;
};

/** The cron that has been due longest. Those that other servers fire at this moment are passed over. */
export async function lockDueCron(db: Queryable): Promise<DueCron | undefined> {
  const [cron] = await db.query<DueCron>(
    `select cron_id, assistant_id, thread_id, on_run_completed, end_time, schedule, timezone, payload, caller,
       thread_scope, assistant_scope, next_run_date as due, clock_timestamp() as now
     from heddle.crons where next_run_date <= clock_timestamp()
     order by next_run_date limit 1
     -- A deletion of the thread waits here for us while we wait for its lock on the thread: PostgreSQL ends one of the
     -- two, and it is tried again.
     for no key update skip locked`,
  );
  return cron;
}

/** After a firing, in its transaction. */
export const moveOn = (
  db: Queryable,
  cronId: string,
  { next, failure }: { next: Date | null; failure: { at: Date; message: string } | null },
) =>
  db.query(
    `update heddle.crons set next_run_date = $2::timestamptz, last_failure = $3::jsonb where cron_id = $1::uuid`,
    [cronId, next, failure],
  );

/** Seconds until the next one is due, less than zero when it is late; undefined when none is to come. */
export async function selectWait(db: Queryable): Promise<number | undefined> {
  const [row] = await db.query<{ seconds: number | null }>(
    `select extract(epoch from min(next_run_date) - clock_timestamp())::double precision as seconds
     from heddle.crons where next_run_date is not null`,
  );
  return row?.seconds ?? undefined;
}

/** What comes after it in the transaction can be undone alone. */
export const startAttempt = (db: Queryable) => db.query("savepoint attempt");
export const undoAttempt = (db: Queryable) => db.query("rollback to savepoint attempt");
