// Who is let in, how he is refused, and what a start with wrong rules says. What each caller sees of each route is in
// access-matrix.test.ts.
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signToken } from "../fixtures/auth/tokens.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { human, lastText } from "../helpers/sdk.ts";

const fixture = (name: string) => path.resolve(import.meta.dirname, "../fixtures/auth", name);
const ECHO = path.resolve(import.meta.dirname, "../fixtures/graphs/echo.ts:graph");
const ANN = "ann-key-0123456789";
const BOB = "bob-key-0123456789";

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** What must hold, whoever makes the rules. */
function describeDoor(start: () => Promise<TestApp>, right: () => Promise<Record<string, string>>) {
  let heddle: TestApp;
  beforeAll(async () => {
    heddle = await start();
  });
  afterAll(() => heddle.close());

  it.each(["/ok", "/info"])("%s answers anybody", async (route) => {
    expect((await fetch(heddle.url + route)).status).toBe(200);
    expect((await fetch(heddle.url + route, { headers: bearer("wrong") })).status).toBe(200);
  });

  it.each([
    ["GET", "/assistants/echo"],
    ["POST", "/threads"],
    ["POST", "/threads/search"],
    ["POST", "/runs/stream"],
    ["GET", "/models"],
    ["GET", "/there-is-no-such-route"],
  ])("%s %s asks for credentials, and Studio's scheme is none", async (method, route) => {
    const wrong = [
      {},
      bearer("wrong"),
      { "x-api-key": "wrong" },
      { "x-auth-scheme": "langsmith" },
      { "x-auth-scheme": "langsmith", "x-api-key": "wrong" },
    ];
    for (const headers of wrong) {
      const response = await fetch(heddle.url + route, { method, headers });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await response.text()).not.toBe("");
    }
  });

  it("refuses before it reads the body", async () => {
    const response = await fetch(`${heddle.url}/threads`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{",
    });
    expect(response.status).toBe(401);
    expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
  });

  it("lets preflights pass, and a browser read the refusal", async () => {
    const origin = "https://chat.example";
    const preflight = await fetch(`${heddle.url}/threads`, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
      },
    });
    expect(preflight.status).toBe(204);
    const refused = await fetch(`${heddle.url}/threads/search`, { method: "POST", headers: { origin } });
    expect(refused.status).toBe(401);
    expect(refused.headers.get("access-control-allow-origin")).toBe("*");
  });

  it("knows a route under any spelling that leads to it", async () => {
    const { hostname, port } = new URL(heddle.url);
    const { request } = await import("node:http");
    const status = (target: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        request({ hostname, port, path: target, method: "GET" }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on("error", reject)
          .end();
      });
    for (const target of [
      "/models/",
      "/models?open=/info",
      `${heddle.url}/models`,
      "/%6Dodels",
      "/info/../models",
    ]) {
      expect(await status(target), target).toBe(401);
    }
  });

  it("opens to whoever has the right one", async () => {
    const headers = await right();
    const models = await fetch(`${heddle.url}/models`, { headers });
    expect(models.status).toBe(200);
    const missing = await fetch(`${heddle.url}/there-is-no-such-route`, { headers });
    expect(missing.status).toBe(404);
  });
}

describe("with API_KEYS", () => {
  const start = () => startApp({ env: { API_KEYS: `ann:${ANN},bob:${BOB}` } });
  describeDoor(start, async () => ({ "x-api-key": ANN }));

  it("works with the SDK's apiKey", async () => {
    const heddle = await start();
    try {
      for (const Sdk of [Client, NextClient]) {
        const client = new Sdk({ apiUrl: heddle.url, apiKey: ANN, callerOptions: { maxRetries: 0 } });
        const { thread_id } = await client.threads.create();
        const values = await client.runs.wait(thread_id, "echo", { input: human("hello") });
        expect(lastText(values)).toBe("echo hello");
        const stranger = new Sdk({ apiUrl: heddle.url, apiKey: "wrong", callerOptions: { maxRetries: 0 } });
        await expect(stranger.threads.get(thread_id)).rejects.toThrow(/HTTP 401: Send a valid key/);
      }
    } finally {
      await heddle.close();
    }
  });
});

describe.each(["langgraph.json", "next.langgraph.json"])("with the rules of a project: %s", (file) => {
  describeDoor(
    () => startApp({ graphs: fixture(file) }),
    async () => bearer(await signToken("ann")),
  );
});

describe("the example of docs/auth.md", () => {
  it("lets its users in, gives each what is his, and refuses others with its words", async () => {
    const page = readFileSync(path.resolve(import.meta.dirname, "../../docs/auth.md"), "utf8");
    const [, example = ""] = page.match(/```ts\n(\/\/ auth\.ts\n.*?)```/s) ?? [];
    const folder = mkdtempSync(path.join(tmpdir(), "heddle-auth-"));
    symlinkSync(path.resolve(import.meta.dirname, "../../node_modules"), path.join(folder, "node_modules"));
    writeFileSync(path.join(folder, "auth.ts"), example);
    const file = path.join(folder, "langgraph.json");
    writeFileSync(file, JSON.stringify({ graphs: { echo: ECHO }, auth: { path: "./auth.ts:auth" } }));
    const heddle = await startApp({ graphs: file });
    try {
      const client = (token: string) =>
        new Client({
          apiUrl: heddle.url,
          defaultHeaders: bearer(token),
          callerOptions: { maxRetries: 0 },
        });
      const ann = client("token-of-ann");
      const bob = client("token-of-bob");
      const thread = await ann.threads.create({ metadata: { owner: "bob" } });
      expect(thread.metadata).toEqual({ owner: "ann" });
      expect(await bob.threads.search()).toEqual([]);
      await expect(bob.threads.get(thread.thread_id)).rejects.toThrow(
        `HTTP 404: Thread with ID ${thread.thread_id} not found`,
      );
      await ann.store.putItem(["notes"], "a", { text: "hers" });
      expect(await ann.store.getItem(["notes"], "a")).toMatchObject({ value: { text: "hers" } });
      expect(await bob.store.getItem(["notes"], "a")).toBeNull();
      await expect(client("token-of-eve").threads.search()).rejects.toThrow("HTTP 401: Unknown token");
    } finally {
      await heddle.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("a start", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "heddle-auth-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const project = (name: string, reference: string, content?: string) => {
    if (content !== undefined) writeFileSync(path.join(folder, `${name}.ts`), content);
    const file = path.join(folder, `${name}.json`);
    writeFileSync(file, JSON.stringify({ graphs: { echo: ECHO }, auth: { path: reference } }));
    return file;
  };

  it.each([
    ["gone", "./gone.ts:auth", undefined, /auth\.path cannot be loaded: /],
    ["broken", "./broken.ts:auth", "throw new Error('no luck today');", /cannot be loaded: no luck today/],
    ["other", "./other.ts:auth", "export const rules = 1;", /no export "auth"; the file exports rules/],
    ["none", "./none.ts:auth", "export const auth = {};", /"auth" is no Auth with an authenticate handler/],
    [
      "mute",
      "./mute.ts",
      "export default { '~handlerCache': { callbacks: { '*': () => true } } };",
      /"default" is no Auth with an authenticate handler/,
    ],
  ])("fails when the rules cannot be had: %s", async (name, reference, content, message) => {
    const failure = startApp({ graphs: project(name, reference, content) });
    await expect(failure).rejects.toThrow(message);
    await expect(failure).rejects.toMatchObject({ file: path.join(folder, `${name}.ts`) });
  });

  it("fails when project and API_KEYS both have rules", async () => {
    const both = startApp({ graphs: fixture("langgraph.json"), env: { API_KEYS: `ann:${ANN}` } });
    await expect(both).rejects.toThrow(/auth\.path and API_KEYS/);
  });

  it.each(["ann:short", "ann:has space 12345", `ann:${ANN},bob:${ANN}`, "a b:0123456789"])(
    "fails on API_KEYS of a wrong form, and shows none of them",
    async (keys) => {
      const failure = startApp({ env: { API_KEYS: keys } });
      await expect(failure).rejects.toThrow(/^API_KEYS is not valid, but must be /);
      await expect(failure).rejects.not.toThrow(keys);
    },
  );
});
