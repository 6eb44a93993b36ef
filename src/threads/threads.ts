// Threads: made, found, changed, removed. What they hold is in state.ts; what they run is in src/runs/.
import { v7 as uuidV7 } from "uuid";
import { DELETE_THREAD } from "../db/checkpointer.sql.ts";
import type { Database } from "../db/database.ts";
import { AppError } from "../errors.ts";
import { threadNotFound } from "./state.ts";
import {
  deleteThreadRow,
  insertThread,
  searchThreadRows,
  selectThread,
  type ThreadRow,
  type ThreadSearch,
  takeThread,
  updateThreadMetadata,
} from "./threads.sql.ts";

export interface Threads {
  /** @throws AppError thread_exists, unless `ifExists` is "do_nothing" */
  create(options: {
    threadId?: string | undefined;
    metadata?: Record<string, unknown> | undefined;
    ifExists?: "raise" | "do_nothing" | undefined;
  }): Promise<ThreadRow>;
  /** @throws AppError thread_not_found */
  get(threadId: string): Promise<ThreadRow>;
  /** Merges metadata, key by key. @throws AppError thread_not_found */
  patch(threadId: string, metadata: Record<string, unknown>): Promise<ThreadRow>;
  search(search: ThreadSearch): Promise<{ threads: ThreadRow[]; total: number }>;
  /** Removes rows, events and checkpoints; whoever runs the thread can write nothing more. @throws thread_not_found */
  remove(threadId: string): Promise<void>;
}

export function createThreads({ db }: { db: Database }): Threads {
  const get = async (threadId: string) => {
    const [thread] = await selectThread(db, threadId);
    if (!thread) throw threadNotFound(threadId);
    return thread;
  };

  return {
    get,
    async create({ threadId = uuidV7(), metadata = {}, ifExists = "raise" }) {
      const [made] = await insertThread(db, threadId, metadata);
      if (made) return made;
      if (ifExists === "do_nothing") return get(threadId);
      throw new AppError("thread_exists", "Thread already exists");
    },
    async patch(threadId, metadata) {
      const [thread] = await updateThreadMetadata(db, threadId, metadata);
      if (!thread) throw threadNotFound(threadId);
      return thread;
    },
    async search(search) {
      const rows = await searchThreadRows(db, search);
      return { threads: rows.map(({ total, ...thread }) => thread), total: Number(rows[0]?.total ?? 0) };
    },
    async remove(threadId) {
      await db.transaction(async (tx) => {
        const [taken] = await takeThread(tx, threadId);
        if (!taken) throw threadNotFound(threadId);
        await tx.query(DELETE_THREAD, [threadId]);
        await deleteThreadRow(tx, threadId);
      });
    },
  };
}
