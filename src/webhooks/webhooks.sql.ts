// The statements on the outbox of webhooks. Its rows are made by a trigger on runs (migrations/0006_webhooks.sql).
import type { Queryable } from "../db/database.ts";

/** A webhook in the hands of who delivers it. */
export interface ClaimedWebhook {
  readonly run_id: string;
  readonly thread_id: string;
  readonly target: string;
  /** Empty for a path on this server. */
  readonly host: string;
  /** The run as it was at its end; times as PostgreSQL writes them. */
  readonly run: EndedRun;
  /** Null: it was cancelled before it started. */
  readonly run_started_at: Date | null;
  readonly run_ended_at: Date;
  /** This one included. */
  readonly attempts: number;
  /** The database's clock. */
  readonly now: Date;
}

interface EndedRun {
  readonly status: string;
  readonly kwargs: {
    readonly temporary?: boolean;
    readonly config?: { readonly configurable?: Record<string, unknown> };
  };
  readonly created_at: string;
  readonly updated_at: string;
  readonly error: { readonly message: string } | null;
  readonly [key: string]: unknown;
}

/** Takes one that is due for `leaseSeconds`: whoever is not done by then has lost it to the next. */
export async function claimWebhook(
  db: Queryable,
  options: {
    leaseSeconds: number;
    /** Hosts that have enough for now. */
    busyHosts: readonly string[];
    /** Whether paths on this server can be delivered. */
    paths: boolean;
  },
): Promise<ClaimedWebhook | undefined> {
  const [row] = await db.query<ClaimedWebhook>(
    `with due as (
       select run_id from heddle.webhooks
       where due_at <= clock_timestamp() and host <> all ($2::text[]) and ($3::boolean or host <> '')
       order by due_at limit 1
       -- Somebody else is taking the others.
       for update skip locked
     )
     update heddle.webhooks w
     set attempts = w.attempts + 1, due_at = clock_timestamp() + make_interval(secs => $1::double precision)
     from due where w.run_id = due.run_id
     returning w.run_id, w.thread_id, w.target, w.host, w.run, w.run_started_at, w.run_ended_at, w.attempts,
       clock_timestamp() as now`,
    [options.leaseSeconds, options.busyHosts, options.paths],
  );
  return row;
}

/** It is delivered. */
export const deleteWebhook = (db: Queryable, runId: string) =>
  db.query("delete from heddle.webhooks where run_id = $1::uuid", [runId]);

/** It was not tried to the end: the next may have it at once. */
export const releaseWebhook = (db: Queryable, { run_id, attempts }: ClaimedWebhook) =>
  db.query(
    `update heddle.webhooks set attempts = attempts - 1, due_at = clock_timestamp()
     where run_id = $1::uuid and attempts = $2::integer and due_at is not null`,
    [run_id, attempts],
  );

/**
 * Sets the time of the next attempt: 5 seconds, doubled with each, at most 2 hours, give or take a half. None after
 * `maxAttempts` or `maxSeconds`. No row when another has it already.
 */
export const postponeWebhook = (
  db: Queryable,
  { run_id, attempts }: ClaimedWebhook,
  { error, maxAttempts, maxSeconds }: { error: string; maxAttempts: number; maxSeconds: number },
) =>
  db.query<{ due_at: Date | null }>(
    `update heddle.webhooks
     set last_error = $3::text,
       due_at = case
         when attempts >= $4::integer
           or clock_timestamp() > run_ended_at + make_interval(secs => $5::double precision) then null
         else clock_timestamp()
           + make_interval(secs => least(7200, 5 * power(2, attempts - 1)) * (0.5 + random())) end
     where run_id = $1::uuid and attempts = $2::integer
     returning due_at`,
    [run_id, attempts, error, maxAttempts, maxSeconds],
  );

/** Those given up are kept for a while, for whoever looks. */
export const deleteOldWebhooks = (db: Queryable, days: number) =>
  db.query(
    `delete from heddle.webhooks
     where due_at is null and run_ended_at < clock_timestamp() - make_interval(days => $1::integer)`,
    [days],
  );
