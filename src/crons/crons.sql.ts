// The statements on crons.
import type { Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";

export interface CronRow {
  readonly cron_id: string;
  readonly assistant_id: string;
  /** Null: each run has a thread of its own. */
  readonly thread_id: string | null;
  /** What becomes of that; null with a thread. */
  readonly on_run_completed: "delete" | "keep" | null;
  readonly end_time: Date | null;
  readonly schedule: string;
  readonly timezone: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  /** The body of the run's request. */
  readonly payload: Record<string, unknown>;
  readonly user_id: string | null;
  readonly next_run_date: Date | null;
  readonly metadata: Record<string, unknown>;
  readonly enabled: boolean;
  /** Why the last firing has made no run. */
  readonly last_failure: { readonly at: string; readonly message: string } | null;
}

/** Who made a cron, as its runs are to know him. */
export interface Owner {
  readonly identity: string;
  readonly permissions: readonly string[];
  readonly user: Readonly<Record<string, unknown>>;
}

const COLUMNS = `cron_id, assistant_id, thread_id, on_run_completed, end_time, schedule, timezone, created_at,
  updated_at, payload, user_id, next_run_date, metadata, enabled, last_failure`;

/** The one clock that firings go by. */
export async function selectNow(db: Queryable): Promise<Date> {
  const [row] = await db.query<{ now: Date }>("select clock_timestamp() as now");
  if (!row) throw new Error("the database has told no time");
  return row.now;
}

export type NewCron = Pick<
  CronRow,
  | "cron_id"
  | "assistant_id"
  | "thread_id"
  | "on_run_completed"
  | "end_time"
  | "schedule"
  | "timezone"
  | "payload"
  | "next_run_date"
  | "metadata"
  | "enabled"
> & {
  readonly owner: Owner | undefined;
  readonly threadScope: Scope;
  readonly assistantScope: Scope;
};

/** Fails on a foreign key when thread or assistant are gone by now. */
export const insertCron = (db: Queryable, cron: NewCron) =>
  db.query<CronRow>(
    `insert into heddle.crons
       (cron_id, assistant_id, thread_id, on_run_completed, end_time, schedule, timezone, payload, next_run_date,
       metadata, enabled, user_id, caller, thread_scope,
       assistant_scope)
     values ($1::uuid, $2::uuid, $3::uuid, $4::text, $5::timestamptz, $6::text, $7::text, $8::json, $9::timestamptz,
       $10::jsonb, $11::boolean, $12::text, $13::jsonb, $14::jsonb,
       $15::jsonb)
     returning ${COLUMNS}`,
    [
      cron.cron_id,
      cron.assistant_id,
      cron.thread_id,
      cron.on_run_completed,
      cron.end_time,
      cron.schedule,
      cron.timezone,
      JSON.stringify(cron.payload),
      cron.next_run_date,
      cron.metadata,
      cron.enabled,
      cron.owner?.identity ?? null,
      cron.owner ?? null,
      cron.threadScope ?? null,
      cron.assistantScope ?? null,
    ],
  );

export const selectCron = (db: Queryable, cronId: string, scope: Scope) =>
  db.query<CronRow>(`select ${COLUMNS} from heddle.crons where cron_id = $1::uuid and ${inScope(2)}`, [
    cronId,
    scope,
  ]);

/** Waits for a firing, and makes the next one wait: what is then computed from the row is still so when it is written. */
export const lockCron = (db: Queryable, cronId: string, scope: Scope) =>
  db.query<CronRow>(
    `select ${COLUMNS} from heddle.crons where cron_id = $1::uuid and ${inScope(2)} for no key update`,
    [cronId, scope],
  );

export const updateCron = (
  db: Queryable,
  cron: Pick<
    CronRow,
    | "cron_id"
    | "on_run_completed"
    | "end_time"
    | "schedule"
    | "timezone"
    | "payload"
    | "next_run_date"
    | "metadata"
    | "enabled"
  >,
) =>
  db.query<CronRow>(
    `update heddle.crons
     set on_run_completed = $2::text, end_time = $3::timestamptz, schedule = $4::text, timezone = $5::text,
       payload = $6::json, next_run_date = $7::timestamptz, metadata = $8::jsonb, enabled = $9::boolean,
       updated_at = clock_timestamp()
     where cron_id = $1::uuid
     returning ${COLUMNS}`,
    [
      cron.cron_id,
      cron.on_run_completed,
      cron.end_time,
      cron.schedule,
      cron.timezone,
      JSON.stringify(cron.payload),
      cron.next_run_date,
      cron.metadata,
      cron.enabled,
    ],
  );

export const deleteCron = (db: Queryable, cronId: string, scope: Scope) =>
  db.query<{ cron_id: string }>(
    `delete from heddle.crons where cron_id = $1::uuid and ${inScope(2)} returning cron_id`,
    [cronId, scope],
  );

export interface CronFilter {
  readonly assistantId?: string | undefined;
  readonly threadId?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly metadata?: Record<string, unknown> | undefined;
  readonly scope: Scope;
}

export interface CronSearch extends CronFilter {
  readonly limit: number;
  readonly offset: number;
  readonly sortBy: "cron_id" | "assistant_id" | "thread_id" | "created_at" | "updated_at" | "next_run_date";
  readonly sortOrder: "asc" | "desc";
}

const MATCHES = `($1::uuid is null or assistant_id = $1::uuid)
  and ($2::uuid is null or thread_id = $2::uuid)
  and ($3::boolean is null or enabled = $3::boolean)
  and ($4::jsonb is null or metadata @> $4::jsonb)
  and ${inScope(5)}`;

const toValues = ({ assistantId, threadId, enabled, metadata, scope }: CronFilter) => [
  assistantId ?? null,
  threadId ?? null,
  enabled ?? null,
  metadata ?? null,
  scope,
];

/** A page, and in `total` how many there are in all. `sortBy` and `sortOrder` are of closed types, never text of a client. */
export const searchCronRows = (db: Queryable, search: CronSearch) =>
  db.query<CronRow & { total: string }>(
    `select ${COLUMNS}, count(*) over () as total from heddle.crons where ${MATCHES}
     order by ${search.sortBy} ${search.sortOrder} nulls last, cron_id
     limit $6::bigint offset $7::bigint`,
    [...toValues(search), search.limit, search.offset],
  );

export async function countCronRows(db: Queryable, filter: CronFilter): Promise<number> {
  const [row] = await db.query<{ count: string }>(
    `select count(*) as count from heddle.crons where ${MATCHES}`,
    toValues(filter),
  );
  return Number(row?.count ?? 0);
}
