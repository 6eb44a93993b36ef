// LangGraph's store over PostgreSQL, as one holder sees it: his items, and only while he may write. A batch is done in
// order, all or nothing. What it does beside SQL, embedding, is done before its transaction.
import { BaseStore, type Item, type Operation, type OperationResults } from "@langchain/langgraph-checkpoint";
import { FencedError } from "../db/checkpointer.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { decode, dump, load } from "../db/serializer.ts";
import { storableJson } from "../db/storable-json.ts";
import { AppError } from "../errors.ts";
import { checkAddress, checkTexts, toAddressId } from "./address.ts";
import { toConditions } from "./filter.ts";
import { lockAddresses, type Put, putItems, selectItems } from "./items.sql.ts";
import type { ItemRow } from "./parts.sql.ts";
import { searchItemRows, selectNamespaces } from "./search.sql.ts";
import type { SemanticIndex } from "./semantic-index.ts";
import { type Entry, type Step, type StoreGet, type StorePut, type StoreSearch, toSteps } from "./steps.ts";

/** `store.ttl` of langgraph.json. */
export interface Ttl {
  /** Of items that are put without one; null: they never expire. */
  readonly defaultMinutes: number | null;
  /** Whether a read begins the time anew, where it does not say. */
  readonly refreshOnRead: boolean;
}

export interface StoreView {
  /** Whose items are seen; empty when all share one store. */
  readonly owner: string;
  /** What limits him to some of them. */
  readonly scope?: Scope;
  /** What is put counts only while this is the thread's newest token. */
  readonly fence?: { readonly threadId: string; readonly token: string } | undefined;
}

interface StoreDeps {
  readonly db: Database;
  readonly index: SemanticIndex | undefined;
  readonly ttl: Ttl;
}

const DEFAULT_LIMIT = 10;
/** A hundred years: PostgreSQL's time ends somewhere. */
const MAX_TTL_MINUTES = 52_560_000;

/** What is known of a batch before its transaction: for each operation by its place. */
interface Prepared {
  readonly vectors: ReadonlyMap<number, readonly Float32Array[]>;
  readonly queries: ReadonlyMap<number, readonly number[]>;
}

export class PostgresStore extends BaseStore {
  readonly #deps: StoreDeps;
  readonly #view: StoreView;

  constructor(deps: StoreDeps, view: StoreView) {
    super();
    this.#deps = deps;
    this.#view = view;
  }

  /**
   * @throws AppError namespace_required, invalid_request, invalid_text; embedding_failed; with a scope item_not_found,
   * forbidden
   * @throws FencedError when the run that put it has been taken over
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const steps = toSteps(operations);
    this.#check(steps);
    const prepared = await this.#prepare(steps);
    const results: unknown[] = operations.map(() => undefined);
    const addresses = steps
      .flatMap((step) => (step.kind === "put" ? step.entries : []))
      .map(({ operation }) => toAddressId(operation, this.#view.owner));
    const [only, ...others] = steps;
    if (only && others.length === 0 && addresses.length < 2 && !this.#needsTransaction(only, prepared)) {
      await this.#take(this.#deps.db, only, prepared, results);
    } else if (steps.length > 0) {
      await this.#deps.db.transaction(async (tx) => {
        if (addresses.length > 1) await lockAddresses(tx, addresses);
        for (const step of steps) await this.#take(tx, step, prepared, results);
      });
    }
    return results as OperationResults<Op>;
  }

  #check(steps: readonly Step[]): void {
    for (const step of steps) {
      if (step.kind === "put") {
        for (const { operation } of step.entries) checkAddress(this.#view.owner, operation);
      } else if (step.kind === "get") {
        for (const { operation } of step.entries) checkTexts(operation.namespace, operation.key);
      } else if (step.kind === "search") checkTexts(step.entries[0].operation.namespacePrefix);
      else for (const { path } of step.entries[0].operation.matchConditions ?? []) checkTexts(path);
    }
  }

  async #prepare(steps: readonly Step[]): Promise<Prepared> {
    const { index } = this.#deps;
    if (!index) return { vectors: new Map(), queries: new Map() };
    const puts = steps
      .flatMap((step) => (step.kind === "put" ? step.entries : []))
      .filter(({ operation }) => operation.value !== null);
    // As it will be read: no cycles, nothing that JSON does not have.
    const values = puts.map(({ operation: { value, index: fields } }) => ({
      value: load(dump(value)),
      fields: fields ?? null,
    }));
    const vectors = await index.embed(values);
    const queries = new Map<number, number[]>();
    for (const step of steps) {
      if (step.kind !== "search") continue;
      const [{ at, operation }] = step.entries;
      if (operation.query) queries.set(at, await index.embedQuery(operation.query));
    }
    return { vectors: new Map(puts.map(({ at }, n) => [at, vectors[n] ?? []])), queries };
  }

  /** A search by similarity opens a cursor; vectors are written after their items. */
  #needsTransaction(step: Step, { vectors, queries }: Prepared): boolean {
    return step.kind === "put" ? vectors.size > 0 : step.entries.some(({ at }) => queries.has(at));
  }

  async #take(db: Queryable, step: Step, prepared: Prepared, results: unknown[]): Promise<void> {
    switch (step.kind) {
      case "get":
        return this.#get(db, step.entries, results);
      case "put":
        return this.#put(db, step.entries, prepared);
      case "search":
        results[step.entries[0].at] = await this.#search(db, step.entries[0], prepared);
        return;
      case "list": {
        const [{ at, operation }] = step.entries;
        const rows = await selectNamespaces(db, this.#view, {
          matches: operation.matchConditions ?? [],
          maxDepth: operation.maxDepth ?? null,
          limit: operation.limit ?? null,
          offset: operation.offset ?? 0,
        });
        results[at] = rows.map(({ namespace }) => namespace);
      }
    }
  }

  async #get(db: Queryable, entries: readonly Entry<StoreGet>[], results: unknown[]): Promise<void> {
    const gets = entries.map(({ operation: { namespace, key } }) => ({ namespace, key }));
    const refresh = entries[0]?.operation.refreshTtl ?? this.#deps.ttl.refreshOnRead;
    for (const { at } of entries) results[at] = null;
    for (const { n, visible, ...row } of await selectItems(db, this.#view, gets, refresh)) {
      if (!visible) throw itemNotFound();
      results[entries[n - 1]?.at ?? -1] = toItem(row);
    }
  }

  async #put(db: Queryable, entries: readonly Entry<StorePut>[], { vectors }: Prepared): Promise<void> {
    const rows = await putItems(
      db,
      this.#view,
      entries.map(({ operation }) => this.#toPut(operation)),
    );
    const { fence } = this.#view;
    const indexed: { itemId: string; vectors: readonly Float32Array[] }[] = [];
    for (const { n, item_id, held, hidden, permitted } of rows) {
      const entry = entries[n - 1];
      if (!entry) continue;
      if (!held && fence) throw new FencedError(fence.threadId);
      if (hidden) throw itemNotFound();
      if (!permitted) throw new AppError("forbidden", "Not authorized");
      if (entry.operation.value === null) continue;
      // Between the look and the write somebody else has put one that is not to be seen.
      if (item_id === null) throw itemNotFound();
      indexed.push({ itemId: item_id, vectors: vectors.get(entry.at) ?? [] });
    }
    if (this.#deps.index && indexed.length > 0) await this.#deps.index.write(db, indexed);
  }

  #toPut({ namespace, key, value, index, ttl }: StorePut): Put {
    const { defaultMinutes } = this.#deps.ttl;
    const minutes = ttl === undefined ? defaultMinutes : ttl;
    return {
      namespace,
      key,
      value: value === null ? undefined : toStored(value),
      ttlMinutes: minutes === null ? null : Math.min(minutes, MAX_TTL_MINUTES),
      indexFields: index ?? null,
      indexId: index === false ? 0 : (this.#deps.index?.id ?? null),
    };
  }

  async #search(db: Queryable, { at, operation }: Entry<StoreSearch>, { queries }: Prepared) {
    const { namespacePrefix, filter, limit = DEFAULT_LIMIT, offset = 0, refreshTtl } = operation;
    const place = { ...this.#view, prefix: namespacePrefix, conditions: toConditions(filter) };
    const refresh = refreshTtl ?? this.#deps.ttl.refreshOnRead;
    const query = queries.get(at);
    const rows =
      this.#deps.index && query
        ? await this.#deps.index.search(db, place, { query, limit, offset, refresh })
        : await searchItemRows(db, place, { limit, offset }, refresh);
    return rows.map((row) => ("score" in row ? { ...toItem(row), score: row.score } : toItem(row)));
  }
}

/** @throws AppError invalid_request when it is no object */
function toStored(value: unknown): string {
  const text = typeof value === "object" && value !== null && !Array.isArray(value) ? dump(value) : "";
  if (!text.startsWith("{")) throw new AppError("invalid_request", "The value of an item must be an object.");
  return storableJson(text);
}

const toItem = (row: ItemRow): Item => ({
  value: decode(row.value) as Item["value"],
  key: row.key,
  namespace: row.namespace,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

const itemNotFound = () => new AppError("item_not_found", "Item not found");
