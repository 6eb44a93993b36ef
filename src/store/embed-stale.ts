// Gives vectors to the items that have none of the server's index: put before there was one, or embedded by another
// model or from other fields. One server at a time, some items at a time.
import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import { decode } from "../db/serializer.ts";
import { isAppError } from "../errors.ts";
import type { SemanticIndex } from "./semantic-index.ts";
import {
  endEmbeddingLease,
  leaseEmbedding,
  markEmbedded,
  type StaleItem,
  selectStaleItems,
} from "./vectors.sql.ts";

const BATCH = 32;

interface EmbedOptions {
  readonly db: Database;
  readonly index: SemanticIndex;
  readonly log: Logger;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

/** Embeds until nothing is left, or another server is at it. @throws AppError embedding_failed */
export async function embedStale({ db, index, log, signal }: EmbedOptions): Promise<void> {
  for (let again = false; !signal.aborted; again = true) {
    const [leased] = await leaseEmbedding(db, index.id, { again });
    if (!leased) return;
    try {
      const items = await selectStaleItems(db, index.id, BATCH);
      if (items.length === 0) return;
      await embedBatch(db, index, items, log);
    } finally {
      await endEmbeddingLease(db, index.id);
    }
  }
}

async function embedBatch(
  db: Database,
  index: SemanticIndex,
  items: readonly StaleItem[],
  log: Logger,
): Promise<void> {
  const values = items.map(({ value, index_fields }) => ({ value: decode(value), fields: index_fields }));
  try {
    const vectors = await index.embed(values);
    for (const [n, item] of items.entries()) await store(db, index, item, vectors[n] ?? []);
    return;
  } catch (error) {
    if (!isAppError(error, "embedding_failed") || items.length === 1) throw error;
  }
  // One text that the model does not take must not keep the others from it.
  let failure: { readonly error: unknown; readonly failed: StaleItem[] } | undefined;
  let embedded = 0;
  for (const [n, item] of items.entries()) {
    const [value] = values.slice(n, n + 1);
    try {
      const [vectors = []] = await index.embed(value ? [value] : []);
      await store(db, index, item, vectors);
      embedded++;
    } catch (error) {
      if (!isAppError(error, "embedding_failed")) throw error;
      failure = { error, failed: [...(failure?.failed ?? []), item] };
    }
  }
  if (!failure) return;
  if (embedded === 0) throw failure.error;
  for (const item of failure.failed) await store(db, index, item, []);
  log.warn({ err: failure.error, items: failure.failed.length }, "items of the store cannot be embedded");
}

/** Leaves an item alone that has been changed since it was read. */
const store = (db: Database, index: SemanticIndex, item: StaleItem, vectors: readonly Float32Array[]) =>
  db.transaction(async (tx) => {
    const [marked] = await markEmbedded(tx, {
      itemId: item.item_id,
      version: item.version,
      indexId: index.id,
    });
    if (marked) await index.write(tx, [{ itemId: item.item_id, vectors }]);
  });
