// Routes of the store: items by namespace and key, searched, and the namespaces that there are. What the project's rules
// make of a request is done, and what they return limits which items are seen.
import type { Item, SearchItem } from "@langchain/langgraph-checkpoint";
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { checkLabels, namespaceRequired } from "../store/address.ts";
import type { Store } from "../store/store.ts";
import {
  askedItem,
  askedList,
  askedPut,
  askedSearch,
  deleteItemBody,
  getItemQuery,
  listNamespacesBody,
  putItemBody,
  searchItemsBody,
} from "./schemas/store.ts";

interface StoreRoutes {
  readonly store: Store;
}

export function storeRoutes(server: FastifyInstance, { store }: StoreRoutes): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  app.put("/store/items", { schema: { body: putItemBody } }, async ({ access, body }, reply) => {
    const { namespace, key, value, index, ttl } = body;
    checkNamespace(namespace);
    const asked = { namespace, key, value };
    const scope = await access.check("store", "put", asked);
    const allowed = askedPut.parse(asked);
    checkNamespace(allowed.namespace);
    await store.open({ owner: access.owner, scope }).batch([
      {
        ...allowed,
        ...(index === undefined || index === null ? {} : { index }),
        ...(ttl === undefined ? {} : { ttl }),
      },
    ]);
    return reply.status(204).send();
  });

  app.get("/store/items", { schema: { querystring: getItemQuery } }, async ({ access, query }) => {
    const { namespace, key, refresh_ttl: refreshTtl } = query;
    checkLabels(namespace);
    const asked = { namespace, key };
    const scope = await access.check("store", "get", asked);
    const allowed = askedItem.parse(asked);
    const [item] = await store.open({ owner: access.owner, scope }).batch([{ ...allowed, refreshTtl }]);
    return item ? show(item) : null;
  });

  app.delete("/store/items", { schema: { body: deleteItemBody } }, async ({ access, body }, reply) => {
    const { namespace = [], key } = body;
    checkLabels(namespace);
    const asked = { namespace, key };
    const scope = await access.check("store", "delete", asked);
    const allowed = askedItem.parse(asked);
    // There is no item without a namespace.
    if (allowed.namespace.length > 0) {
      await store.open({ owner: access.owner, scope }).batch([{ ...allowed, value: null }]);
    }
    return reply.status(204).send();
  });

  app.post("/store/items/search", { schema: { body: searchItemsBody } }, async ({ access, body }) => {
    const { namespace_prefix: namespace, filter, limit = 10, offset = 0, query, refresh_ttl } = body;
    checkLabels(namespace);
    const asked = { namespace, filter, limit, offset, query };
    const scope = await access.check("store", "search", asked);
    const { namespace: namespacePrefix = [], ...allowed } = askedSearch.parse(asked);
    const [items = []] = await store
      .open({ owner: access.owner, scope })
      .batch([{ namespacePrefix, ...defined(allowed), refreshTtl: refresh_ttl }]);
    return { items: items.map(show) };
  });

  app.post("/store/namespaces", { schema: { body: listNamespacesBody } }, async ({ access, body }) => {
    const { prefix, suffix, max_depth, limit = 100, offset = 0 } = body;
    checkLabels([...(prefix ?? []), ...(suffix ?? [])]);
    const asked = { namespace: prefix, suffix, max_depth, limit, offset };
    const scope = await access.check("store", "list_namespaces", asked);
    const allowed = askedList.parse(asked);
    const [namespaces] = await store.open({ owner: access.owner, scope }).batch([
      {
        matchConditions: [
          { matchType: "prefix", path: allowed.namespace ?? [] },
          { matchType: "suffix", path: allowed.suffix ?? [] },
        ],
        ...(allowed.max_depth === undefined ? {} : { maxDepth: allowed.max_depth }),
        limit: allowed.limit,
        offset: allowed.offset,
      },
    ]);
    return { namespaces };
  });
}

function checkNamespace(namespace: readonly string[]): void {
  if (namespace.length === 0) throw namespaceRequired();
  checkLabels(namespace);
}

const show = ({ createdAt, updatedAt, ...item }: Item | SearchItem) => ({
  ...item,
  created_at: createdAt,
  updated_at: updatedAt,
});

/** Without what is undefined. */
const defined = <T extends object>(value: T) =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
