// Search by similarity in PostgreSQL, with pgvector: exact where a search looks at few vectors; where it looks at many, the
// best of what an HNSW index gives, which may miss one now and then.
import type { Queryable } from "../db/database.ts";
import {
  countVectors,
  enterNearest,
  enterRanking,
  leaveNearest,
  leaveRanking,
  type Near,
  type NearQuestion,
  type NearRow,
  selectBest,
  selectNearest,
} from "./pgvector.sql.ts";
import type { Rank } from "./rank.ts";
import { toArrayLiteral, toUnit } from "./vectors.ts";

/** So many vectors are compared in a fraction of a second; most searches, with a prefix, have fewer. */
const FEW_VECTORS = 5_000;
/** The index gives more than is asked for: it compares roughly, and one item may have several vectors. */
const LEAST_WANTED = 128;
const MOST_WANTED = 8_192;

export const rankNear =
  (near: Near): Rank =>
  async (tx, { place, indexId, query, count }) => {
    const unit = toUnit(query);
    const question = { place, indexId, query: toArrayLiteral(unit), count };
    await enterRanking(tx);
    const [counted] = await countVectors(tx, place, indexId, FEW_VECTORS + 1);
    // To a query of zeros all are equally near, and the index knows nothing of their age.
    const isMany = (counted?.count ?? 0) > FEW_VECTORS && unit.some((number) => number !== 0);
    const nearest = isMany ? await askIndex(tx, near, question) : undefined;
    const rows = nearest ?? (await selectBest(tx, near, question));
    await leaveRanking(tx);
    return rows.map(({ item_id, score }) => ({ itemId: item_id, score }));
  };

/** Undefined: it has not given enough. */
async function askIndex(tx: Queryable, near: Near, question: NearQuestion): Promise<NearRow[] | undefined> {
  await enterNearest(tx);
  let enough: NearRow[] | undefined;
  // In powers of two, so that the pages of a search come from the same vectors.
  let wanted = 2 ** Math.ceil(Math.log2(Math.max(LEAST_WANTED, 2 * question.count)));
  for (; wanted <= MOST_WANTED && !enough; wanted *= 4) {
    const rows = await selectNearest(tx, near, question, wanted);
    if (rows.length >= question.count) enough = rows;
    // The filter leaves so few of them that the index has given up.
    else if ((rows[0]?.vectors ?? 0) < wanted) break;
  }
  await leaveNearest(tx);
  return enough;
}
