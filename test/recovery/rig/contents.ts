// What is in the database when a scenario is over: the checker's second input.
import type { Database } from "../../../src/db/database.ts";

interface RunContents {
  readonly run_id: string;
  readonly thread_id: string;
  /** The client's own name of the run. */
  readonly key: string | null;
  readonly run_number: number;
  readonly status: string;
  readonly error: string | null;
  readonly attempt: number;
}

/** A row of the audit; times in milliseconds since 1970. */
export interface RunChange {
  readonly at: number;
  readonly run_id: string;
  readonly thread_id: string;
  readonly key: string | null;
  readonly kind: "insert" | "update" | "delete";
  readonly writer: string;
  readonly old_status: string | null;
  readonly new_status: string | null;
  readonly old_token: number | null;
  readonly new_token: number | null;
  readonly old_owner: string | null;
  readonly new_owner: string | null;
  readonly old_until: number | null;
  readonly new_until: number | null;
}

/** A change of a cron's next date; times in milliseconds since 1970. */
export interface CronMove {
  readonly at: number;
  readonly cron_id: string;
  /** Pid of the server that has fired it; empty: the scenario has made it due. */
  readonly writer: string;
  readonly due: number;
  readonly next: number | null;
  /** Made in the same transaction. */
  readonly runs: readonly string[];
}

export interface Contents {
  readonly runs: readonly RunContents[];
  readonly changes: readonly RunChange[];
  readonly staleWrites: readonly { what: string; writer: string; thread_id: string; detail: string }[];
  /** The event log's numbers of each run, in order. */
  readonly events: readonly { run_id: string; seqs: readonly number[] }[];
  /** Rows that belong to nothing: of threads that are gone. */
  readonly orphans: readonly { what: string; thread_id: string }[];
  readonly cronMoves: readonly CronMove[];
  readonly cronRuns: readonly { run_id: string; cron_id: string }[];
  /** Runs that have one to be told, and whether it waits to be. */
  readonly webhooks: readonly { run_id: string; waits: boolean }[];
  /** Who has taken a webhook to deliver it, and when. */
  readonly webhookClaims: readonly { at: number; writer: string; run_id: string }[];
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::double precision`;

export async function readContents(db: Database): Promise<Contents> {
  return {
    runs: await db.query<RunContents & object>(
      `select run_id::text, thread_id::text, metadata ->> 'rig_key' as key, run_number::integer, status,
         concat(error ->> 'error', ': ', error ->> 'message') as error, attempt
       from heddle.runs order by run_number`,
    ),
    changes: await db.query<RunChange & object>(
      `select ${ms("at")} as at, run_id::text, thread_id::text, key, kind, writer, old_status, new_status,
         old_token::integer, new_token::integer, old_owner, new_owner,
         ${ms("old_until")} as old_until, ${ms("new_until")} as new_until
       from rig.run_change order by n`,
    ),
    staleWrites: await db.query("select what, writer, thread_id, detail from rig.stale_write order by n"),
    events: await db.query(
      "select run_id::text, array_agg(seq order by seq) as seqs from heddle.run_events group by run_id",
    ),
    orphans: await db.query(
      `select what, thread_id from (
         select 'checkpoint' as what, thread_id from heddle.checkpoints
         union select 'pending write', thread_id from heddle.checkpoint_writes
         union select 'channel value', thread_id from heddle.checkpoint_blobs
       ) as row where thread_id not in (select t.thread_id::text from heddle.threads t)
       union all
       select distinct 'event of run ' || e.run_id, '?' from heddle.run_events e
       where not exists (select from heddle.runs r where r.run_id = e.run_id)`,
    ),
    cronMoves: await db.query<CronMove & object>(
      `select ${ms("m.at")} as at, m.cron_id::text, m.writer, ${ms("m.due")} as due, ${ms("m.next")} as next,
         array(select c.run_id::text from rig.run_change c where c.xid = m.xid and c.kind = 'insert') as runs
       from rig.cron_move m order by m.n`,
    ),
    cronRuns: await db.query(
      `select run_id::text, metadata ->> 'cron_id' as cron_id from heddle.runs
       where metadata ->> 'cron_id' is not null`,
    ),
    webhooks: await db.query(
      `select r.run_id::text, w.run_id is not null as waits
       from heddle.runs r left join heddle.webhooks w on w.run_id = r.run_id where r.webhook is not null`,
    ),
    webhookClaims: await db.query(
      `select ${ms("at")} as at, writer, run_id::text from rig.webhook_claim order by n`,
    ),
  };
}
