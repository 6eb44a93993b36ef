// Writes a thread down, to be taken to another Heddle: what it is, its checkpoints with all values and writes, what its
// conversation has learned, and the messages of its session. Of one moment, even while the thread runs.
import { readAll } from "../db/checkpoint-rows.sql.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import type { AgentThreadState } from "../kit/agent-thread.ts";
import { inLongTransaction } from "../threads/long-transaction.ts";
import { threadNotFound } from "../threads/state.ts";
import { selectThread, type ThreadRow } from "../threads/threads.sql.ts";
import { selectLearned } from "./learned.sql.ts";
import { type Spool, spoolLines } from "./spool.ts";
import { writeBlob, writeCheckpoint, writeHeader, writeWrite } from "./thread-file.ts";

interface ExportDeps {
  readonly db: Database;
  /** The session of this id, if whoever asks has one. */
  readonly readSession: (sessionId: string) => Promise<AgentThreadState | undefined>;
}

/** On disk; the caller closes it. @throws AppError thread_not_found, message_store_unavailable */
export async function exportThread(
  { db, readSession }: ExportDeps,
  threadId: string,
  scope: Scope,
): Promise<Spool> {
  return inLongTransaction(db, async (tx) => {
    await tx.query("set transaction isolation level repeatable read");
    const [thread] = await selectThread(tx, threadId, scope);
    if (!thread) throw threadNotFound(threadId);
    const sessionId = sessionOf(thread);
    const session = sessionId === undefined ? undefined : await readSession(sessionId);
    return spoolLines(numbered(toLines(tx, thread, sessionId, session)));
  });
}

async function* toLines(
  tx: Queryable,
  { thread_id, metadata, config, status, created_at, updated_at }: ThreadRow,
  session_id: string | undefined,
  session: AgentThreadState | undefined,
): AsyncGenerator<string> {
  yield writeHeader({ thread_id, metadata, config, status, created_at, updated_at });
  for await (const row of readAll(tx, "checkpoints", thread_id)) yield writeCheckpoint(row);
  for await (const row of readAll(tx, "checkpoint_blobs", thread_id)) yield writeBlob(row);
  for await (const row of readAll(tx, "checkpoint_writes", thread_id)) yield writeWrite(row);
  for (const { values } of await selectLearned(tx, thread_id))
    yield JSON.stringify({ conversation: { values } });
  if (!session) return;
  const { service_thread_id, chat_message_store_state: messages } = session;
  yield JSON.stringify({ session: { session_id, service_thread_id } });
  for (const message of messages?.messages ?? []) yield JSON.stringify({ message });
}

/** With a last line that tells whoever reads it that nothing is missing. */
async function* numbered(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let count = 0;
  for await (const line of lines) {
    count++;
    yield line;
  }
  yield JSON.stringify({ end: { lines: count } });
}

/** The session that the thread's runs have gone by. */
function sessionOf({ config }: ThreadRow): string | undefined {
  const { configurable } = config as { configurable?: Record<string, unknown> };
  return typeof configurable?.session_id === "string" ? configurable.session_id : undefined;
}
