// The semantic index of a server, from `store.index` of langgraph.json: which texts of a value are embedded, and which
// items come nearest to a query.
import type { Queryable } from "../db/database.ts";
import { AppError } from "../errors.ts";
import type { Embedder } from "./embedder.ts";
import { selectItemsById } from "./items.sql.ts";
import type { ItemRow } from "./parts.sql.ts";
import type { Rank } from "./rank.ts";
import { type Place, searchItemsWithoutVector } from "./search.sql.ts";
import { textsAtPath } from "./texts-at-path.ts";
import { deleteVectors, insertVectors } from "./vectors.sql.ts";
import { toUnit } from "./vectors.ts";

export interface SemanticIndex {
  /** Number of the row in store_indexes. */
  readonly id: number;
  /** The vectors of each value, in order. Talks to the model: not in a transaction. @throws AppError embedding_failed */
  embed(values: readonly Indexed[]): Promise<Float32Array[][]>;
  /** Stores them, in the transaction that has written the items. */
  write(tx: Queryable, items: readonly { itemId: string; vectors: readonly Float32Array[] }[]): Promise<void>;
  /** @throws AppError embedding_failed */
  embedQuery(query: string): Promise<number[]>;
  /** The nearest first, then those that have no vector, in the order in which they were made. */
  search(tx: Queryable, place: Place, page: SemanticPage): Promise<(ItemRow & { score?: number })[]>;
}

interface Indexed {
  readonly value: unknown;
  /** Null: those of the index. */
  readonly fields: readonly string[] | false | null;
}

interface SemanticPage {
  readonly query: readonly number[];
  readonly limit: number;
  readonly offset: number;
  readonly refresh: boolean;
}

/** The best of a search by similarity that can be paged through: all before a page have to be kept. */
const MAX_RANKED = 10_000;

interface IndexOptions {
  readonly id: number;
  readonly fields: readonly string[];
  readonly embedder: Embedder;
  readonly rank: Rank;
}

export function createSemanticIndex({ id, fields, embedder, rank }: IndexOptions): SemanticIndex {
  const textsOf = (indexed: Indexed) =>
    indexed.fields === false
      ? []
      : [...new Set((indexed.fields ?? fields).flatMap((path) => textsAtPath(indexed.value, path)))];

  return {
    id,
    embedQuery: (query) => embedder.embedQuery(query),

    async embed(values) {
      const texts = values.map(textsOf);
      const distinct = [...new Set(texts.flat())];
      const vectors = (await embedder.embed(distinct)).map(toUnit);
      const byText = new Map(distinct.map((text, index) => [text, vectors[index]]));
      return texts.map((ofOne) => ofOne.flatMap((text) => byText.get(text) ?? []));
    },

    async write(tx, items) {
      await deleteVectors(
        tx,
        items.map(({ itemId }) => itemId),
      );
      await insertVectors(
        tx,
        items.flatMap(({ itemId, vectors }) =>
          vectors.map((embedding, position) => ({ itemId, position, embedding })),
        ),
      );
    },

    async search(tx, place, { query, limit, offset, refresh }) {
      const count = limit + offset;
      if (count > MAX_RANKED) {
        throw new AppError(
          "invalid_request",
          `A search with a query gives the first ${MAX_RANKED} items; offset and limit lead beyond.`,
        );
      }
      const ranked = await rank(tx, { place, indexId: id, query, count });
      const page = ranked.slice(offset);
      const rest = limit - page.length;
      const others =
        rest === 0
          ? []
          : await searchItemsWithoutVector(tx, place, id, {
              limit: rest,
              offset: Math.max(0, offset - ranked.length),
            });
      const ids = [...page.map(({ itemId }) => itemId), ...others.map(({ item_id }) => item_id)];
      const rows = await selectItemsById(tx, ids, refresh);
      const byId = new Map(rows.map((row) => [row.item_id, row]));
      const scores = new Map(page.map(({ itemId, score }) => [itemId, score]));
      return ids.flatMap((itemId) => {
        const row = byId.get(itemId);
        const score = scores.get(itemId);
        // Deleted since it was ranked.
        if (!row) return [];
        return score === undefined ? row : { ...row, score };
      });
    },
  };
}
