// Threads: made, found, changed, copied, reduced, removed. What they hold is in state.ts and update-state.ts; what they
// run is in src/runs/.
import { v7 as uuidV7 } from "uuid";
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError } from "../errors.ts";
import type { OpenStore } from "../graphs/open-store.ts";
import type { Graphs } from "../graphs/registry.ts";
import { type CopyRequest, copyThread } from "./copy-thread.ts";
import { inLongTransaction } from "./long-transaction.ts";
import {
  clearExpiry,
  deleteOldCheckpoints,
  deleteStrayBlobs,
  deleteStrayWrites,
  forgetGoneParents,
} from "./prune.sql.ts";
import { deleteThreadRow } from "./removal.sql.ts";
import { removeLeftoversOf } from "./remove-leftovers.ts";
import { countMatching, searchThreads, type ThreadQuery, type ThreadSearch } from "./search.ts";
import { type ThreadStates, threadNotFound } from "./state.ts";
import {
  hasUnfinishedRun,
  insertThread,
  lockThread,
  selectThread,
  selectTtl,
  type ThreadRow,
  type Ttl,
  takeThread,
  updateThread,
} from "./threads.sql.ts";
import { applySupersteps, type ClientSuperstep } from "./update-state.ts";
import { whenDeleted } from "./when-deleted.ts";

export interface Threads {
  /** What threads get that are made without a ttl of their own. */
  readonly ttl: Ttl | undefined;
  /**
   * With `supersteps`, all of it or nothing.
   * @throws AppError thread_exists, unless `ifExists` is "do_nothing"; thread_being_deleted; what `applySupersteps` throws
   */
  create(options: {
    threadId?: string | undefined;
    metadata?: Record<string, unknown> | undefined;
    ifExists?: "raise" | "do_nothing" | undefined;
    ttl?: Ttl | undefined;
    supersteps?: readonly ClientSuperstep[] | undefined;
    /** Who asks, for the store that the graph's functions see. */
    identity?: string | undefined;
    /** All of them limit the caller. */
    scopes?: readonly Scope[];
  }): Promise<ThreadRow>;
  /** @throws AppError thread_not_found */
  get(threadId: string, scope?: Scope): Promise<ThreadRow>;
  /** When the thread expires; undefined when it has no ttl. */
  expiry(
    threadId: string,
  ): Promise<{ strategy: string; ttl_minutes: number; expires_at: Date | null } | undefined>;
  /** Merges metadata, key by key. @throws AppError thread_not_found */
  patch(
    threadId: string,
    change: { metadata: Record<string, unknown>; ttl?: Ttl | undefined },
    scope?: Scope,
  ): Promise<ThreadRow>;
  search(search: ThreadSearch): Promise<{ threads: ThreadRow[]; total: number }>;
  count(query: ThreadQuery): Promise<number>;
  /** @throws AppError thread_not_copied */
  copy(threadId: string, request: CopyRequest): Promise<ThreadRow>;
  /**
   * Removes all but the newest state. False when the thread has an unfinished run, which may need more.
   * @throws AppError thread_not_found
   */
  keepLatest(threadId: string, options?: { scope?: Scope; isExpired?: boolean }): Promise<boolean>;
  /**
   * From now on there is no such thread, and whoever runs it can write nothing more. What it held is still to be removed:
   * `removeLeftovers`. With `isExpired`, only if it still is. @throws AppError thread_not_found
   */
  remove(threadId: string, options?: { scope?: Scope; isExpired?: boolean }): Promise<void>;
  removeLeftovers(threadId: string): Promise<void>;
}

interface ThreadDeps {
  readonly db: Database;
  readonly graphs: Graphs;
  readonly checkpointer: Checkpointer;
  readonly openStore: OpenStore;
  readonly states: ThreadStates;
  /** JSON as clients get it. */
  readonly toJson: (value: unknown) => string;
  readonly ttl: Ttl | undefined;
}

export function createThreads(deps: ThreadDeps): Threads {
  const { db, ttl: defaultTtl } = deps;
  const get = async (threadId: string, scope?: Scope) => {
    const [thread] = await selectThread(db, threadId, scope);
    if (!thread) throw threadNotFound(threadId);
    return thread;
  };

  return {
    ttl: defaultTtl,
    get,
    async create({
      threadId = uuidV7(),
      metadata = {},
      ifExists = "raise",
      ttl = defaultTtl,
      supersteps = [],
      identity,
      scopes = [],
    }) {
      const [made] = await whenDeleted(() =>
        supersteps.length === 0
          ? insertThread(db, threadId, metadata, ttl)
          : db.transaction(async (tx) => {
              const [thread] = await insertThread(tx, threadId, metadata, ttl);
              if (!thread) return [];
              for (const scope of scopes) {
                if ((await selectThread(tx, threadId, scope)).length === 0) throw threadNotFound(threadId);
              }
              await applySupersteps({ ...deps, tx, identity }, thread, supersteps);
              return selectThread(tx, threadId);
            }),
      );
      if (made) return made;
      const exists = new AppError("thread_exists", "Thread already exists");
      if (ifExists === "raise") throw exists;
      for (const scope of scopes) {
        if ((await selectThread(db, threadId, scope)).length === 0) throw exists;
      }
      return get(threadId);
    },
    async expiry(threadId) {
      const [expiry] = await selectTtl(db, threadId);
      return expiry;
    },
    async patch(threadId, { metadata, ttl }, scope) {
      const [thread] = await updateThread(db, threadId, { metadata, ttl }, scope);
      if (!thread) throw threadNotFound(threadId);
      return thread;
    },
    search: (search) => searchThreads(deps, search),
    count: (query) => countMatching(deps, query),
    copy: (threadId, request) => copyThread(db, threadId, request, defaultTtl),
    keepLatest: (threadId, { scope, isExpired = false } = {}) =>
      inLongTransaction(db, async (tx) => {
        const [thread] = await lockThread(tx, threadId, scope);
        if (!thread) throw threadNotFound(threadId);
        if (await hasUnfinishedRun(tx, threadId)) return false;
        if (isExpired && (await clearExpiry(tx, threadId)).length === 0) throw threadNotFound(threadId);
        // A run that has lost its lease may still be writing on top of what is removed here.
        await takeThread(tx, threadId);
        await deleteOldCheckpoints(tx, threadId);
        await deleteStrayWrites(tx, threadId);
        await deleteStrayBlobs(tx, threadId);
        await forgetGoneParents(tx, threadId);
        return true;
      }),
    async remove(threadId, { scope, isExpired = false } = {}) {
      await db.transaction(async (tx) => {
        const [taken] = await takeThread(tx, threadId, scope);
        const [gone] = taken ? await deleteThreadRow(tx, threadId, isExpired) : [];
        if (!gone) throw threadNotFound(threadId);
      });
    },
    removeLeftovers: (threadId) => removeLeftoversOf(db, threadId),
  };
}
