// A project's own app on a server that asks for credentials: what of it a stranger reaches, and as whom the server speaks to
// it.
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signToken } from "../fixtures/auth/tokens.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { human } from "../helpers/sdk.ts";

const fixture = (name: string) => path.resolve(import.meta.dirname, "../fixtures/auth", name);
const KEYS = { ann: "ann-key-0123456789", bob: "bob-key-0123456789" };

const WAYS = {
  API_KEYS: {
    options: {
      graphs: fixture("app-open.langgraph.json"),
      env: { API_KEYS: `ann:${KEYS.ann},bob:${KEYS.bob}` },
    },
    headers: async (name: "ann" | "bob"): Promise<Record<string, string>> => ({ "x-api-key": KEYS[name] }),
    wrong: { "x-api-key": "wrong-key-0123456789" },
  },
  "the rules of a project": {
    options: { graphs: fixture("app.langgraph.json") },
    headers: async (name: "ann" | "bob"): Promise<Record<string, string>> => ({
      authorization: `Bearer ${await signToken(name)}`,
    }),
    wrong: { authorization: "Bearer wrong" },
  },
};

describe.each(Object.entries(WAYS))("with %s", (_, { options, headers, wrong }) => {
  let heddle: TestApp;
  let ann: Client;
  let bob: Client;
  beforeAll(async () => {
    heddle = await startApp(options);
    const clientOf = async (name: "ann" | "bob") =>
      new Client({
        apiUrl: heddle.url,
        apiKey: null,
        defaultHeaders: await headers(name),
        callerOptions: { maxRetries: 0 },
      });
    ann = await clientOf("ann");
    bob = await clientOf("bob");
  });
  afterAll(() => heddle.close());

  const get = (route: string, given: Record<string, string> = {}) =>
    fetch(heddle.url + route, { headers: given });

  it.each(["/mine", "/mine/threads", "/done", "/nowhere", "/threads/search"])(
    "a stranger gets nothing of %s, and the app does not hear of him",
    async (route) => {
      const before = Number((await get("/info")).headers.get("x-asked"));
      const strangers: Record<string, string>[] = [{}, wrong, { "x-auth-scheme": "langsmith" }];
      for (const given of strangers) {
        const response = await get(route, given);
        expect(response.status).toBe(401);
        expect(response.headers.get("www-authenticate")).toBe("Bearer");
        expect(response.headers.get("x-asked")).toBeNull();
      }
      expect(Number((await get("/info")).headers.get("x-asked"))).toBe(before + 1);
    },
  );

  it("whoever has the right credentials gets the app's routes and ours, through the app", async () => {
    const given = await headers("ann");
    expect(await (await get("/mine", given)).json()).toEqual({ mine: true });
    const nowhere = await get("/nowhere", given);
    expect([nowhere.status, nowhere.headers.has("x-asked")]).toEqual([404, true]);
    const models = await get("/models", given);
    expect([models.status, models.headers.has("x-asked")]).toEqual([200, true]);
  });

  it("what answers anybody does so through the app, which can lead nobody elsewhere by it", async () => {
    const info = await get("/info");
    expect([info.status, info.headers.has("x-asked")]).toEqual([200, true]);
    expect((await get("/info", { "x-elsewhere": "1" })).status).toBe(401);
    expect((await get("/info", { "x-elsewhere": "1", ...(await headers("ann")) })).status).toBe(200);
  });

  it("the app's own requests have the rights of the credentials that they carry", async () => {
    await ann.threads.create({ metadata: { whose: "ann's" } });
    await bob.threads.create({ metadata: { whose: "bob's" } });
    const own = (await (await get("/mine/threads", await headers("ann"))).json()) as { owner: string }[];
    expect(new Set(own.map(({ owner }) => owner))).toEqual(new Set(["ann"]));
    expect(await (await get("/mine/stranger", await headers("ann"))).text()).toMatch(/^HTTP 401/);
  });

  it("a webhook to one of its paths comes as whoever has asked for the run, without his credentials", async () => {
    const { thread_id } = await ann.threads.create();
    const run = await ann.runs.create(thread_id, "echo", { input: human("hi"), webhook: "/done" });
    const given = await headers("ann");
    await expect
      .poll(async () => (await get("/done", given)).json())
      .toContainEqual({
        webhook: run.run_id,
        run: expect.objectContaining({ thread_id, status: "success" }),
      });
  });

  it("a webhook to a path of ours can do what whoever has asked for the run may do, and no more", async () => {
    const theirs = (await bob.threads.create()).thread_id;
    const own = (await ann.threads.create()).thread_id;
    const copies = async (client: Client) => (await client.threads.search({ limit: 100 })).length;
    const before = { ann: await copies(ann), bob: await copies(bob) };
    const refused = await ann.runs.create(own, "echo", {
      input: human("hi"),
      webhook: `/threads/${theirs}/copy`,
    });
    await ann.runs.join(own, refused.run_id);
    await ann.runs.create(own, "echo", { input: human("hi"), webhook: `/threads/${own}/copy` });
    await expect.poll(() => copies(ann)).toBe(before.ann + 1);
    await expect
      .poll(() =>
        heddle.database.db.query("select last_error from heddle.webhooks where run_id = $1::uuid", [
          refused.run_id,
        ]),
      )
      .toEqual([{ last_error: expect.stringContaining("409") }]);
    expect(await copies(bob)).toBe(before.bob);
  });
});
