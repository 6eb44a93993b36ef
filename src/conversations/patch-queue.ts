// Changes of one conversation that wait in this process while another one is written: those that nothing tells apart are
// written together, in the order of asking, and each still has a version and a notification of its own. Fifty writers then
// take one connection and one write of the row, not fifty.
import { type PatchParts, toCombinedParts } from "../kit/conversation-values.ts";
import type { PatchedRow, PatchStatement } from "./conversations.sql.ts";

/** One change, and the way to the database that it takes. */
export interface Change extends Omit<PatchStatement, "parts" | "count"> {
  readonly parts: PatchParts;
  readonly write: (statement: PatchStatement) => Promise<readonly PatchedRow[]>;
}

type Answer = PromiseWithResolvers<PatchedRow | undefined>;
interface Waiting extends Answer {
  readonly change: Change;
  readonly kind: string;
}

/** Changes of one statement. */
const BATCH = 100;

/** Undefined: no such thread, as far as the caller may see. */
export function createPatchQueue(): (change: Change) => Promise<PatchedRow | undefined> {
  /** By thread, those that are not being written yet; a thread is in it while something of it is written. */
  const queues = new Map<string, Waiting[]>();

  const drain = async (threadId: string, queue: Waiting[]) => {
    for (let batch = takeBatch(queue); batch.length > 0; batch = takeBatch(queue)) await writeBatch(batch);
    queues.delete(threadId);
  };

  return (change) => {
    const waiting: Waiting = { ...Promise.withResolvers(), change, kind: toKind(change) };
    const queue = queues.get(change.threadId);
    if (queue) queue.push(waiting);
    else {
      const own = [waiting];
      queues.set(change.threadId, own);
      void drain(change.threadId, own);
    }
    return waiting.promise;
  };
}

/** Changes of one kind are for the same eyes and of the same run. One that is bound to a version is alone. */
const toKind = ({ scope, run, versions }: Change) =>
  versions === null ? JSON.stringify([scope ?? null, run ?? null]) : crypto.randomUUID();

function takeBatch(queue: Waiting[]): Waiting[] {
  const end = queue.findIndex(({ kind }) => kind !== queue[0]?.kind);
  return queue.splice(0, Math.min(BATCH, end === -1 ? queue.length : end));
}

async function writeBatch(batch: readonly Waiting[]): Promise<void> {
  const [first] = batch;
  if (!first) return;
  const { write, ...statement } = first.change;
  const parts = toCombinedParts(batch.map(({ change }) => change.parts));
  try {
    const [row] = await write({ ...statement, parts, count: batch.length });
    for (const [i, { resolve }] of batch.entries()) {
      const version = row?.version == null ? null : row.version - (batch.length - 1 - i);
      resolve(row && { ...row, version });
    }
  } catch (error) {
    for (const { reject } of batch) reject(error);
  }
}
