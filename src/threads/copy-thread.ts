// Makes a copy of a thread: its history, state, open interrupts and what its conversation has learned, under a new id.
// Runs and files are not copied.
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError } from "../errors.ts";
import {
  copyBlobRows,
  copyCheckpointRows,
  copyConversation,
  copyState,
  copyWriteRows,
} from "./copy-thread.sql.ts";
import { inLongTransaction } from "./long-transaction.ts";
import { insertThread, selectThread, type ThreadRow, type Ttl } from "./threads.sql.ts";

export interface CopyRequest {
  readonly copyId: string;
  /** Added to the original's. */
  readonly metadata: Record<string, unknown>;
  /** All of them limit the caller: what he may read, and what he may make. */
  readonly scopes: readonly Scope[];
}

/** @throws AppError thread_not_copied */
export const copyThread = (
  db: Database,
  threadId: string,
  { copyId, metadata, scopes }: CopyRequest,
  ttl: Ttl | undefined,
): Promise<ThreadRow> =>
  inLongTransaction(db, async (tx) => {
    await tx.query("set transaction isolation level repeatable read");
    const [readable, writable] = scopes;
    const [thread] = await selectThread(tx, threadId, readable);
    if (!thread) throw notCopied();
    await insertThread(tx, copyId, { ...thread.metadata, ...metadata, thread_id: copyId }, ttl);
    await copyState(tx, threadId, copyId);
    await copyCheckpointRows(tx, threadId, copyId);
    await copyBlobRows(tx, threadId, copyId);
    await copyWriteRows(tx, threadId, copyId);
    await copyConversation(tx, threadId, copyId);
    const [copy] = await selectThread(tx, copyId, writable);
    if (!copy) throw notCopied();
    return copy;
  });

// The official server's status and words.
const notCopied = () => new AppError("thread_not_copied", "Thread not found");
