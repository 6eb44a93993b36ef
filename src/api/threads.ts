// Routes of threads. Those of their state are in thread-state.ts.
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { v7 as uuidV7 } from "uuid";
import { isAppError } from "../errors.ts";
import { toWireJson } from "../events/wire-json.ts";
import type { Runs } from "../runs/runs.ts";
import { extract } from "../threads/extract.ts";
import type { ThreadStates } from "../threads/state.ts";
import type { ThreadRow } from "../threads/threads.sql.ts";
import type { Threads } from "../threads/threads.ts";
import { pageHeaders } from "./pagination.ts";
import { threadParams } from "./schemas/common.ts";
import {
  countThreadsBody,
  createThreadBody,
  includeQuery,
  patchThreadBody,
  pruneBody,
  searchThreadsBody,
} from "./schemas/threads.ts";

interface ThreadRoutes {
  readonly threads: Threads;
  readonly states: ThreadStates;
  readonly runs: Runs;
}

export function threadRoutes(server: FastifyInstance, { threads, states, runs }: ThreadRoutes): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  /** With the state's values, which a thread that has never run does not have. */
  const showAll = async function* (rows: readonly ThreadRow[], keys?: readonly string[]) {
    for await (const { thread, values } of states.values(rows, keys)) yield { ...showRow(thread), values };
  };
  const show = async (row: ThreadRow) => (await showAll([row]).next()).value;

  app.post("/threads", { schema: { body: createThreadBody } }, async ({ access, body }) => {
    const { thread_id = uuidV7(), metadata = {}, if_exists, ttl, supersteps = [] } = body;
    const asked = { thread_id, metadata, if_exists, ttl };
    const scopes = [await access.check("threads", "create", asked)];
    if (supersteps.length > 0) {
      scopes.push(await access.check("threads", "update", { thread_id, supersteps }));
      scopes.push(await access.check("threads", "read", { thread_id }));
    }
    return show(
      await threads.create({
        threadId: thread_id,
        metadata: asked.metadata,
        ifExists: if_exists,
        ttl,
        supersteps,
        identity: access.caller?.identity,
        scopes,
      }),
    );
  });

  app.post("/threads/search", { schema: { body: searchThreadsBody } }, async ({ access, body }, reply) => {
    const { select, extract: paths } = body;
    const asked = toQuery(body);
    const scope = await access.check("threads", "search", asked);
    const { threads: rows, total } = await threads.search({
      ...asked,
      scope,
      limit: body.limit,
      offset: body.offset,
      sortBy: body.sort_by ?? "created_at",
      sortOrder: body.sort_order ?? "desc",
    });
    reply.headers({ ...pageHeaders(body, rows.length, total), "x-pagination-total": String(total) });
    const keys = toKeys(select, Object.values(paths ?? {}));
    const toShown = (thread: object) => ({
      ...(select === undefined ? thread : pick(thread, select)),
      ...(paths === undefined ? {} : { extracted: extractAll(thread, paths) }),
    });
    if (keys?.length === 0) return rows.map((row) => toShown(showRow(row)));
    // One after the other: all of them together may be more than fits into the memory.
    return reply
      .type("application/json; charset=utf-8")
      .send(Readable.from(toJsonList(showAll(rows, keys), toShown)));
  });

  app.post("/threads/count", { schema: { body: countThreadsBody } }, async ({ access, body }, reply) => {
    const asked = toQuery(body);
    const scope = await access.check("threads", "search", asked);
    return reply.type("application/json").send(String(await threads.count({ ...asked, scope })));
  });

  app.post("/threads/prune", { schema: { body: pruneBody } }, async ({ access, body }) => {
    let pruned = 0;
    for (const thread_id of new Set(body.thread_ids)) {
      const scope = await access.check("threads", "delete", { thread_id });
      const done =
        body.strategy === "keep_latest"
          ? threads.keepLatest(thread_id, { scope })
          : runs.deleteThread(thread_id, { scope }).then(() => true);
      if (await done.catch(ifGone)) pruned++;
    }
    return { pruned_count: pruned };
  });

  app.get(
    "/threads/:thread_id",
    { schema: { params: threadParams, querystring: includeQuery } },
    async ({ access, params: { thread_id }, query }) => {
      const scope = await access.check("threads", "read", { thread_id });
      const thread = await show(await threads.get(thread_id, scope));
      if (!query.include?.includes("ttl")) return thread;
      const ttl = await threads.expiry(thread_id);
      return { ...thread, ...(ttl === undefined ? {} : { ttl }) };
    },
  );

  app.patch(
    "/threads/:thread_id",
    { schema: { params: threadParams, body: patchThreadBody } },
    async ({ access, params: { thread_id }, body, headers }, reply) => {
      const asked = { thread_id, metadata: body.metadata ?? {}, ttl: body.ttl };
      const scope = await access.check("threads", "update", asked);
      const thread = await threads.patch(thread_id, { metadata: asked.metadata, ttl: body.ttl }, scope);
      if (wantsMinimal(headers)) return reply.status(204).send();
      return show(thread);
    },
  );

  app.delete(
    "/threads/:thread_id",
    { schema: { params: threadParams } },
    async ({ access, params: { thread_id } }, reply) => {
      const scope = await access.check("threads", "delete", { thread_id });
      await runs.deleteThread(thread_id, { scope });
      return reply.status(204).send();
    },
  );

  app.post(
    "/threads/:thread_id/copy",
    { schema: { params: threadParams } },
    async ({ access, params: { thread_id } }) => {
      const readable = await access.check("threads", "read", { thread_id });
      const asked = { thread_id: uuidV7(), metadata: {} };
      const writable = await access.check("threads", "create", asked);
      const { thread_id: copyId, metadata } = asked;
      const copy = await threads.copy(thread_id, { copyId, metadata, scopes: [readable, writable] });
      // The official server shows a copy without its values.
      return showRow(copy);
    },
  );
}

const showRow = ({ error, ...thread }: ThreadRow) => ({ ...thread, ...(error === null ? {} : { error }) });

const toQuery = ({ metadata, ids, status, values }: Parameters<Threads["count"]>[0]) => ({
  metadata,
  ids,
  status,
  values,
});

async function* toJsonList<T>(items: AsyncIterable<T>, toShown: (item: T) => object): AsyncGenerator<string> {
  let before = "[";
  for await (const item of items) {
    yield before + toWireJson(toShown(item));
    before = ",";
  }
  yield before === "[" ? "[]" : "]";
}

type Path = Parameters<typeof extract>[1];

/** What has to be read of the values: these keys, or, when undefined, all. */
function toKeys(select: readonly string[] | undefined, paths: readonly Path[]): string[] | undefined {
  if (select === undefined || select.includes("values")) return undefined;
  const keys = paths.filter(([first]) => first === "values").map(([, key]) => key);
  return keys.every((key) => typeof key === "string") ? keys : undefined;
}

/** What lies at the paths of the thread as it is sent. */
const extractAll = (thread: object, paths: Readonly<Record<string, Path>>) =>
  Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, extract(thread, path, toWireJson)]));

const pick = (thread: object, fields: readonly string[]) =>
  Object.fromEntries(Object.entries(thread).filter(([field]) => fields.includes(field)));

/** RFC 7240, as the SDK sends it. */
const wantsMinimal = ({ prefer = "" }: FastifyRequest["headers"]) =>
  /\breturn=minimal\b/.test(String(prefer));

function ifGone(error: unknown): false {
  if (isAppError(error, "thread_not_found")) return false;
  throw error;
}
