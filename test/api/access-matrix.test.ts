// Every route of the server, asked without credentials, with wrong ones, by somebody else and by the owner: for API_KEYS
// and for the rules of a project. What is somebody else's is answered, to the byte, like what does not exist.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signToken } from "../fixtures/auth/tokens.ts";
import { ROWS, type Row } from "../helpers/access-rows.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { acquire, type Belongings, Caller, inspect, nothing } from "../helpers/belongings.ts";
import { type Route, readRoutes } from "../helpers/routes.ts";

const fixture = (name: string) => path.resolve(import.meta.dirname, "../fixtures/auth", name);
const KEYS = { ann: "ann-key-0123456789", bob: "bob-key-0123456789" };

const WAYS = {
  API_KEYS: {
    start: () =>
      startApp({
        graphs: fixture("open.langgraph.json"),
        env: { API_KEYS: `ann:${KEYS.ann},bob:${KEYS.bob}`, ALLOW_TRUNCATE: "true" },
      }),
    headers: async (name: "ann" | "bob") => ({ "x-api-key": KEYS[name] }),
    wrong: { "x-api-key": "wrong-key-0123456789" },
  },
  "the rules of a project": {
    start: () => startApp({ graphs: fixture("langgraph.json"), env: { ALLOW_TRUNCATE: "true" } }),
    headers: async (name: "ann" | "bob") => ({ authorization: `Bearer ${await signToken(name)}` }),
    wrong: { authorization: "Bearer wrong" },
  },
};

interface Asked {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

/** Each of these tests asks every route several times. */
const PATIENCE_MS = 180_000;
/** How long the beginning of an endless answer is waited for. */
const BEGINNING_MS = 300;

async function ask(caller: Caller, { method, path }: Route, row: Row, own: Belongings): Promise<Asked> {
  const parts: Record<string, string> = {
    namespace: "nowhere",
    "*": `mnt/user-data/outputs/${own.filename}`,
    ...own,
    ...row.params,
  };
  const place = path.replaceAll(/:(\w+)|\*/g, (whole, name = whole) => parts[name] ?? whole);
  const query = new URLSearchParams(row.query?.(own));
  const body = method === "GET" || method === "HEAD" ? undefined : row.body?.(own);
  const gone = new AbortController();
  const response = await caller.send(method, `${place}?${query}`, body, gone.signal);
  const isEndless = row.endless && response.ok && method !== "HEAD";
  const text = isEndless ? await readBeginning(response, gone) : await response.text();
  return { status: response.status, type: response.headers.get("content-type"), text };
}

async function readBeginning({ body }: Response, gone: AbortController): Promise<string> {
  const timer = setTimeout(() => gone.abort(), BEGINNING_MS);
  let text = "";
  try {
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  return text;
}

/** The ids that were asked for are all that may differ. */
const withoutIds = ({ status, type, text }: Asked, ...all: Belongings[]): Asked => {
  const ids = all.flatMap((own) => Object.values(own));
  return { status, type, text: ids.reduce((rest, id) => rest.replaceAll(id, "<id>"), text) };
};

/** Which of the ids the request names. */
function idsOf({ path }: Route, row: Row): (keyof Belongings)[] {
  const used = new Set<keyof Belongings>();
  const own = new Proxy(nothing(), {
    get: (target, name: keyof Belongings) => {
      used.add(name);
      return target[name];
    },
  });
  row.body?.(own);
  row.query?.(own);
  for (const [, name] of path.matchAll(/:(\w+)/g))
    if (name && name in nothing()) used.add(name as keyof Belongings);
  if (path.endsWith("/artifacts/*")) used.add("filename");
  used.delete("mark");
  return [...used];
}

describe.each(Object.entries(WAYS))("with %s", (_, way) => {
  let heddle: TestApp;
  let routes: Route[];
  let ann: Caller;
  let bob: Caller;
  let bobs: Belongings;
  beforeAll(async () => {
    heddle = await way.start();
    routes = readRoutes(heddle.app.server).filter(({ method }) => method !== "OPTIONS");
    ann = new Caller(heddle.url, await way.headers("ann"));
    bob = new Caller(heddle.url, await way.headers("bob"));
    bobs = await acquire(bob);
  });
  afterAll(() => heddle.close());

  const take = async () => {
    const anns = await acquire(ann);
    return { anns, before: await inspect(ann, anns) };
  };
  let read: ReturnType<typeof take> | undefined;
  /** Something of ann's, and what she sees of it. What is only read stays as it is: it does for all such routes. */
  const takeFor = ({ method }: Route) => {
    if (method !== "GET" && method !== "HEAD") return take();
    read ??= take();
    return read;
  };

  const rowOf = ({ method, path }: Route) => ROWS[`${method === "HEAD" ? "GET" : method} ${path}`];

  it("every route has a row, and every row a route", () => {
    const without = routes.filter((route) => !rowOf(route)).map(({ method, path }) => `${method} ${path}`);
    expect(without).toEqual([]);
    const names = new Set(routes.map(({ method, path }) => `${method} ${path}`));
    expect(Object.keys(ROWS).filter((name) => !names.has(name))).toEqual([]);
  });

  const each = (kinds: Row["kind"][], check: (route: Route, row: Row) => Promise<void>) => async () => {
    const failures: string[] = [];
    for (const route of routes) {
      const row = rowOf(route);
      if (!row || !kinds.includes(row.kind)) continue;
      await check(route, row).catch((error: unknown) =>
        failures.push(`${route.method} ${route.path}: ${error instanceof Error ? error.message : error}`),
      );
    }
    expect(failures).toEqual([]);
  };

  it(
    "nobody gets in without the right credentials",
    each(["one", "list", "name", "shared"], async (route, row) => {
      for (const headers of [{}, way.wrong, { ...way.wrong, "x-auth-scheme": "langsmith" }]) {
        expect((await ask(new Caller(heddle.url, headers), route, row, bobs)).status).toBe(401);
      }
    }),
    PATIENCE_MS,
  );

  it(
    "what is open needs none",
    each(["open"], async (route, row) => {
      expect((await ask(new Caller(heddle.url, {}), route, row, bobs)).status).toBeLessThan(400);
    }),
    PATIENCE_MS,
  );

  it(
    "somebody else's is like nothing, and stays as it is; the owner's is there",
    each(["one"], async (route, row) => {
      const { anns, before } = await takeFor(route);
      const ids = idsOf(route, row);
      // All of it somebody else's; then each id alone, the others the caller's own.
      for (const foreign of [ids, ...(ids.length > 1 ? ids.map((id) => [id]) : [])]) {
        const none = nothing();
        const pick = (from: Belongings) => Object.fromEntries(foreign.map((id) => [id, from[id]]));
        const theirs = { ...bobs, ...pick(anns) };
        const missing = { ...bobs, ...pick(none) };
        const stranger = await ask(bob, route, row, theirs);
        expect(withoutIds(stranger, anns), foreign.join()).toEqual(
          withoutIds(await ask(bob, route, row, missing), none),
        );
        expect(stranger.text).not.toContain(anns.mark);
      }
      expect(await inspect(ann, anns)).toBe(before);
      const owner = await ask(ann, route, row, anns);
      if (row.status) expect(owner.status).toBe(row.status);
      else expect(owner.status, owner.text).toBeLessThan(400);
    }),
    PATIENCE_MS,
  );

  it(
    "lists show what is one's own",
    each(["list"], async (route, row) => {
      const { anns, before } = await takeFor(route);
      const shown = row.shows?.(anns) ?? anns.mark;
      const stranger = await ask(bob, route, row, anns);
      expect(stranger.status).toBeLessThan(400);
      expect(stranger.text).not.toContain(shown);
      expect(await inspect(ann, anns)).toBe(before);
      const owner = await ask(ann, route, row, anns);
      expect(owner.status).toBeLessThan(400);
      if (owner.status !== 204) expect(owner.text).toContain(shown);
    }),
    PATIENCE_MS,
  );

  it(
    "a taken name is refused without a word of what has it",
    each(["name"], async (route, row) => {
      const { anns, before } = await takeFor(route);
      const stranger = await ask(bob, route, row, anns);
      expect(stranger.status).toBe(409);
      expect(stranger.text).not.toContain(anns.mark);
      expect(await inspect(ann, anns)).toBe(before);
      const owner = await ask(ann, route, row, anns);
      expect(owner.status).toBe(200);
      expect(owner.text).toContain(anns.mark);
    }),
    PATIENCE_MS,
  );

  it(
    "what is shared is the same for all",
    each(["shared"], async (route, row) => {
      const owner = await ask(ann, route, row, bobs);
      expect(owner.status).toBeLessThan(400);
      const other = await ask(bob, route, row, bobs);
      expect(row.varies ? { ...other, text: owner.text } : other).toEqual(owner);
    }),
    PATIENCE_MS,
  );
});
