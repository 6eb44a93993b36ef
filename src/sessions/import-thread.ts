// Takes a thread over from a file of `export-thread.ts`, all of it or nothing: its rows go into tables of the transaction's own,
// and from there the way that threads of the official PostgresSaver come (threads/transfer.ts). The same file once more
// changes nothing.
import {
  BATCH,
  type BlobRow,
  type CheckpointRow,
  createStagedTables,
  insertBlobs,
  insertCheckpoints,
  insertWrites,
  STAGED,
  type WriteRow,
} from "../db/checkpoint-rows.sql.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { storableJson } from "../db/storable-json.ts";
import { AppError, isAppError } from "../errors.ts";
import { fromStoredMessage } from "../kit/chat-message-store.ts";
import { EMPTY_CONVERSATION, mergeValues, toPatchParts } from "../kit/conversation-values.ts";
import { TransferError } from "../threads/copy-checkpoints.ts";
import { inLongTransaction } from "../threads/long-transaction.ts";
import {
  hasUnfinishedRun,
  insertThread,
  lockThread,
  selectThread,
  setFirstConfig,
  type Ttl,
} from "../threads/threads.sql.ts";
import { receiveCheckpoints } from "../threads/transfer.ts";
import { insertLearned } from "./learned.sql.ts";
import { createPostgresMessageStore } from "./postgres-message-store.ts";
import { insertSession } from "./sessions.sql.ts";
import { readLines, type Spool } from "./spool.ts";
import {
  invalid,
  readHeader,
  readLine,
  readValue,
  type ThreadHeader,
  type ThreadLine,
} from "./thread-file.ts";

export interface ImportRequest {
  readonly file: Spool;
  readonly thread: ThreadHeader;
  /** Of the thread, if it is not there yet. */
  readonly metadata: Record<string, unknown>;
  /** All of them limit the caller. */
  readonly scopes: readonly Scope[];
  /** Whose the thread's session becomes. */
  readonly owner: string;
  readonly ttl: Ttl | undefined;
}

export interface Imported {
  readonly thread_id: string;
  /** Of the thread as it is here now. */
  readonly metadata: Record<string, unknown>;
  /** How many the thread did not have. */
  readonly checkpoints: number;
}

/** @throws AppError import_invalid */
export async function readThreadHeader(file: Spool): Promise<ThreadHeader> {
  for await (const { text } of readLines(file)) return readHeader(text);
  throw invalid("The file is empty.");
}

/** @throws AppError import_invalid, import_conflict, thread_exists, thread_busy */
export async function importThread(db: Database, request: ImportRequest): Promise<Imported> {
  const { thread, scopes } = request;
  const { thread_id } = thread;
  return inLongTransaction(db, async (tx) => {
    const [made] = await insertThread(tx, thread_id, toStorable(request.metadata), request.ttl);
    for (const scope of made ? [] : scopes) {
      // As one who makes a thread is told.
      if ((await selectThread(tx, thread_id, scope)).length === 0) {
        throw new AppError("thread_exists", "Thread already exists");
      }
    }
    await lockThread(tx, thread_id);
    if (await hasUnfinishedRun(tx, thread_id)) {
      throw new AppError("thread_busy", "The thread has an unfinished run. Wait for it, or cancel it.");
    }
    await createStagedTables(tx);
    const staged = await stage(tx, request);
    await setFirstConfig(tx, thread_id, withoutIdentity(thread.config));
    const checkpoints = staged === 0 ? 0 : await receive(tx, thread_id);
    const [now] = await selectThread(tx, thread_id);
    return { thread_id, metadata: now?.metadata ?? {}, checkpoints };
  });
}

async function receive(tx: Queryable, threadId: string): Promise<number> {
  try {
    return await receiveCheckpoints(tx, { db: tx, schema: STAGED, threadId }, threadId);
  } catch (error) {
    if (error instanceof TransferError)
      throw new AppError("import_conflict", error.message, { cause: error });
    throw error;
  }
}

/** Puts all of the file where it is taken from. Returns how many checkpoints it has. */
async function stage(tx: Queryable, { file, thread, owner }: ImportRequest): Promise<number> {
  const to = { db: tx, schema: STAGED, threadId: thread.thread_id };
  const checkpoints = collect<CheckpointRow>((rows) => insertCheckpoints(to, rows));
  const blobs = collect<BlobRow>((rows) => insertBlobs(to, rows));
  const writes = collect<WriteRow>((rows) => insertWrites(to, rows));
  const session = openSession(tx, owner);
  let count = 0;
  let end: number | undefined;
  for await (const { text, number } of readLines(file)) {
    if (number === 1) {
      count++;
      continue;
    }
    if (end !== undefined) throw invalid(`Line ${number} of the file comes after its end.`);
    const line = readLine(text, number);
    if ("end" in line) {
      end = line.end.lines;
      continue;
    }
    count++;
    if ("checkpoint" in line) await checkpoints.add(toCheckpointRow(line.checkpoint));
    else if ("blob" in line) {
      const { version, type, ...names } = line.blob;
      const { checkpoint_ns, channel } = names;
      await blobs.add({
        checkpoint_ns,
        channel,
        newVersion: version,
        type,
        blob: readValue(line.blob, number),
      });
    } else if ("write" in line) {
      const { checkpoint_ns, checkpoint_id, task_id, idx, channel, type } = line.write;
      const blob = readValue(line.write, number) ?? Buffer.alloc(0);
      await writes.add({ checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob });
    } else if ("conversation" in line) {
      const learned = mergeValues(EMPTY_CONVERSATION, toPatchParts(line.conversation.values));
      await insertLearned(tx, thread.thread_id, learned);
    } else if ("session" in line) await session.begin(line.session);
    else await session.add(line.message, number);
  }
  if (end !== count) {
    throw invalid(
      end === undefined
        ? "The file was cut off: its last line is missing."
        : `The file has ${count} lines, where its last line says ${end}.`,
    );
  }
  for (const rows of [checkpoints, blobs, writes, session]) await rows.finish();
  return checkpoints.count();
}

/** Writes them some at a time. */
function collect<Item>(write: (items: readonly Item[]) => Promise<unknown>) {
  let waiting: Item[] = [];
  let count = 0;
  const finish = async () => {
    const items = waiting;
    waiting = [];
    if (items.length > 0) await write(items);
  };
  return {
    async add(item: Item) {
      count++;
      if (waiting.push(item) === BATCH) await finish();
    },
    finish,
    count: () => count,
  };
}

/** The session of the thread; one that is there already stays as it is: it may have gone on. */
function openSession(tx: Queryable, owner: string) {
  let add: ((message: unknown) => Promise<void>) | undefined;
  let finish = async () => {};
  return {
    async begin({
      session_id: sessionId,
      service_thread_id,
    }: Extract<ThreadLine, { session: unknown }>["session"]) {
      const key = { owner, sessionId };
      const message_store = service_thread_id === null ? "postgres" : null;
      const [made] = await insertSession(tx, key, { message_store, service_thread_id });
      add = async () => {};
      if (!made || message_store === null) return;
      const store = createPostgresMessageStore(
        { db: { query: tx.query, transaction: (work) => work(tx) } },
        key,
      );
      const rows = collect<unknown>((messages) =>
        store.add_messages(messages.map((message) => fromStoredMessage(message))),
      );
      ({ add, finish } = rows);
    },
    async add(message: unknown, number: number) {
      if (!add) throw invalid(`Line ${number} of the file is a message, and no session comes before it.`);
      try {
        fromStoredMessage(message, `Line ${number} of the file`);
      } catch (error) {
        if (isAppError(error)) throw invalid(error.message, error);
        throw error;
      }
      await add(message);
    },
    finish: () => finish(),
  };
}

function toCheckpointRow({
  metadata,
  checkpoint,
  ...row
}: Extract<ThreadLine, { checkpoint: unknown }>["checkpoint"]): CheckpointRow {
  return {
    ...row,
    checkpoint: toStorable(checkpoint) as CheckpointRow["checkpoint"],
    metadata: storableJson(JSON.stringify(metadata)),
  };
}

const toStorable = (value: object): object => JSON.parse(storableJson(JSON.stringify(value)));

/** Who somebody is, his credentials say, and no file. */
function withoutIdentity({ configurable, ...config }: Record<string, unknown>): object {
  if (typeof configurable !== "object" || configurable === null) return config;
  const kept = Object.entries(configurable).filter(([key]) => !/^(__|langgraph_auth)/.test(key));
  return { ...config, configurable: Object.fromEntries(kept) };
}
