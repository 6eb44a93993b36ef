// Crons: made, found, changed, removed. What they do is in fire.ts.
import { validate as isUuid, v7 as uuidV7 } from "uuid";
import type { Assistants } from "../assistants/assistants.ts";
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError } from "../errors.ts";
import type { RunConfig } from "../runs/run-kwargs.ts";
import { threadNotFound } from "../threads/state.ts";
import type { Threads } from "../threads/threads.ts";
import {
  type CronFilter,
  type CronRow,
  type CronSearch,
  countCronRows,
  deleteCron,
  insertCron,
  lockCron,
  type Owner,
  searchCronRows,
  selectCron,
  selectNow,
  updateCron,
} from "./crons.sql.ts";
import { nextRun, type Schedule } from "./schedule.ts";

/** What can be changed of a cron. Undefined: stays; null: none. */
export interface CronChanges {
  readonly schedule?: string | undefined;
  readonly timezone?: string | null | undefined;
  readonly endTime?: Date | null | undefined;
  readonly enabled?: boolean | undefined;
  readonly onRunCompleted?: "delete" | "keep" | undefined;
  /** Merged, key by key. */
  readonly metadata?: Record<string, unknown> | undefined;
  /** Fields of the run's request; merged, field by field, and its metadata key by key. */
  readonly payload: Record<string, unknown>;
}

interface CronRequest extends CronChanges {
  readonly cronId: string;
  readonly schedule: string;
  /** Assistant id or graph name. */
  readonly assistantId: string;
  /** Undefined: each run gets a thread of its own. */
  readonly threadId: string | undefined;
  /** Who asks, and what he sees. */
  readonly owner: Owner | undefined;
  readonly threadScope: Scope;
  readonly assistantScope: Scope;
}

export interface Crons {
  /** An id for a new cron. */
  newId(): string;
  /** @throws AppError assistant_not_found, graph_not_loaded, thread_not_found, invalid_request */
  create(request: CronRequest): Promise<CronRow>;
  /** @throws AppError cron_not_found */
  get(cronId: string, scope: Scope): Promise<CronRow>;
  /** Here and in `count` the assistant may be named by its graph. */
  search(search: CronSearch): Promise<{ crons: CronRow[]; total: number }>;
  count(filter: CronFilter): Promise<number>;
  /** What was due before is not made up for when the schedule changes. @throws AppError cron_not_found, invalid_request */
  patch(cronId: string, changes: CronChanges, scope: Scope): Promise<CronRow>;
  /** @throws AppError cron_not_found */
  remove(cronId: string, scope: Scope): Promise<void>;
}

interface CronsOptions {
  readonly db: Database;
  readonly assistants: Assistants;
  readonly threads: Threads;
  /** Refuse what its runs could never be. @throws AppError */
  readonly checks: readonly ((run: { readonly webhook?: string; readonly config?: RunConfig }) => void)[];
  /** Something may be due earlier than before. */
  readonly onChange: () => void;
}

export function createCrons({ db, assistants, threads, checks, onChange }: CronsOptions): Crons {
  const check = (payload: Record<string, unknown>) => {
    for (const one of checks) one(payload);
  };

  /** Undefined: nothing can have this assistant. */
  const resolve = <T extends CronFilter>(filter: T): T | undefined => {
    if (filter.assistantId === undefined) return filter;
    const assistantId = assistants.idOf(filter.assistantId);
    return isUuid(assistantId) ? { ...filter, assistantId } : undefined;
  };

  return {
    newId: () => uuidV7(),
    async create(request) {
      const { cronId, threadId, timezone = null, endTime = null, enabled = true, metadata = {} } = request;
      check(request.payload);
      const { assistant_id } = await assistants.get(request.assistantId, request.assistantScope);
      if (threadId !== undefined) await threads.get(threadId, request.threadScope);
      const schedule = { schedule: request.schedule, timezone, end_time: endTime };
      const next = nextRun(schedule, await selectNow(db));
      if (next === null) throw invalid("end_time", "nothing is due before it");
      const [cron] = await insertCron(db, {
        ...schedule,
        cron_id: cronId,
        assistant_id,
        thread_id: threadId ?? null,
        on_run_completed: threadId === undefined ? (request.onRunCompleted ?? "delete") : null,
        payload: { assistant_id, ...request.payload },
        next_run_date: enabled ? next : null,
        metadata,
        enabled,
        owner: request.owner,
        threadScope: request.threadScope,
        assistantScope: request.assistantScope,
      }).catch((error: unknown) => {
        // Deleted since we looked.
        if (!isMissing(error)) throw error;
        throw threadId === undefined
          ? new AppError("assistant_not_found", "Assistant not found")
          : threadNotFound(threadId);
      });
      if (!cron) throw new Error("the cron was not inserted");
      onChange();
      return cron;
    },
    async get(cronId, scope) {
      const [cron] = await selectCron(db, cronId, scope);
      if (!cron) throw cronNotFound();
      return cron;
    },
    async search(search) {
      const resolved = resolve(search);
      const rows = resolved ? await searchCronRows(db, resolved) : [];
      return { crons: rows.map(({ total, ...cron }) => cron), total: Number(rows[0]?.total ?? 0) };
    },
    async count(filter) {
      const resolved = resolve(filter);
      return resolved ? countCronRows(db, resolved) : 0;
    },
    async patch(cronId, changes, scope) {
      check(changes.payload);
      const changed = await db.transaction(async (tx) => {
        const [cron] = await lockCron(tx, cronId, scope);
        if (!cron) throw cronNotFound();
        const [row] = await updateCron(tx, apply(cron, changes, await selectNow(tx)));
        return row;
      });
      if (!changed) throw cronNotFound();
      onChange();
      return changed;
    },
    async remove(cronId, scope) {
      const [gone] = await deleteCron(db, cronId, scope);
      if (!gone) throw cronNotFound();
    },
  };
}

function apply(cron: CronRow, changes: CronChanges, now: Date): CronRow {
  const { schedule, timezone, endTime, enabled = cron.enabled } = changes;
  const times: Schedule = {
    schedule: schedule ?? cron.schedule,
    timezone: timezone === undefined ? cron.timezone : timezone,
    end_time: endTime === undefined ? cron.end_time : endTime,
  };
  const moved =
    schedule !== undefined || timezone !== undefined || endTime !== undefined || enabled !== cron.enabled;
  const payload: Record<string, unknown> = { ...cron.payload, ...changes.payload };
  return {
    ...cron,
    ...times,
    enabled,
    next_run_date: !enabled ? null : moved ? nextRun(times, now) : cron.next_run_date,
    on_run_completed: cron.thread_id === null ? (changes.onRunCompleted ?? cron.on_run_completed) : null,
    payload: { ...payload, metadata: { ...toObject(cron.payload.metadata), ...toObject(payload.metadata) } },
    metadata: { ...cron.metadata, ...changes.metadata },
  };
}

const toObject = (value: unknown) => (typeof value === "object" ? value : undefined);

/** A foreign key that names nothing. */
const isMissing = (error: unknown) => error instanceof Error && "code" in error && error.code === "23503";

const cronNotFound = () => new AppError("cron_not_found", "Cron not found");

const invalid = (field: string, problem: string) =>
  new AppError("invalid_request", `body.${field}: ${problem}`, { details: [`body.${field}: ${problem}`] });
