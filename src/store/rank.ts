// Exact search by similarity, in the server: looks at every vector that a search may find, some at a time, and keeps the best. Takes
// time in proportion to their number; memory only for what it keeps.
import type { Queryable } from "../db/database.ts";
import { closeVectors, fetchVectors, openVectors, type Place } from "./search.sql.ts";
import { similarity, toUnit } from "./vectors.ts";

interface Ranked {
  readonly itemId: string;
  readonly score: number;
}

interface RankQuestion {
  readonly place: Place;
  readonly indexId: number;
  readonly query: readonly number[];
  /** How many of the best are wanted. */
  readonly count: number;
}

/** The best items, each by its best vector; of two alike the older one first. In a transaction: it opens a cursor. */
export type Rank = (tx: Queryable, question: RankQuestion) => Promise<Ranked[]>;

export const rankExactly: Rank = async (tx, { place, indexId, query, count }) => {
  const best = createBest(count);
  const wanted = toUnit(query);
  let current: Ranked | undefined;
  await openVectors(tx, place, indexId);
  for (let rows = await fetchVectors(tx); rows.length > 0; rows = await fetchVectors(tx)) {
    for (const { item_id, embedding } of rows) {
      const score = similarity(wanted, embedding);
      if (current?.itemId === item_id) {
        if (score > current.score) current = { itemId: item_id, score };
        continue;
      }
      if (current) best.add(current);
      current = { itemId: item_id, score };
    }
  }
  if (current) best.add(current);
  await closeVectors(tx);
  return best.items;
};

function createBest(count: number) {
  const items: Ranked[] = [];
  return {
    items,
    add(one: Ranked) {
      const last = items.at(-1);
      if (items.length >= count && (!last || one.score <= last.score)) return;
      let low = 0;
      let high = items.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((items[middle]?.score ?? 0) >= one.score) low = middle + 1;
        else high = middle;
      }
      items.splice(low, 0, one);
      if (items.length > count) items.pop();
    },
  };
}
