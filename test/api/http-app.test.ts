// http.app of langgraph.json: a Hono app around our routes, over real connections.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request as openRequest } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";

const FOLDER = path.resolve(import.meta.dirname, "../fixtures/http");
const FETCH = Symbol.for("langgraph_api:fetch");
type Loopback = typeof globalThis & { [FETCH]?: typeof fetch };
const inProcess = (route: string, init?: RequestInit) => {
  const send = (globalThis as Loopback)[FETCH];
  if (!send) throw new Error("there is no server in this process");
  return send(route, init);
};

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs: path.join(FOLDER, "langgraph.json") });
});
afterAll(() => heddle.close());

const get = (route: string, init?: RequestInit) => fetch(heddle.url + route, init);
const read = async (response: Response | Promise<Response>) =>
  (await (await response).json()) as {
    thread_id: string;
    metadata: unknown;
    told: unknown;
    uploaded: number;
  };
const post = (route: string, body: unknown, headers: Record<string, string> = {}) =>
  get(route, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });

describe("a project's app", () => {
  it("adds a header to our routes, also to errors and to paths that nobody has", async () => {
    const info = await get("/info");
    expect(info.headers.get("x-middleware")).toBe("seen");
    expect(await info.json()).toHaveProperty("flags");
    const missing = await get(`/threads/${randomUUID()}`);
    expect([missing.status, missing.headers.get("x-middleware")]).toEqual([404, "seen"]);
    const nobody = await get("/nobody");
    expect([nobody.status, nobody.headers.get("x-middleware")]).toEqual([404, "seen"]);
    expect(await nobody.text()).toBe("There is no GET /nobody");
    const head = await get("/info", { method: "HEAD" });
    expect([head.status, head.headers.get("x-middleware")]).toEqual([200, "seen"]);
  });

  it("answers instead of our routes", async () => {
    expect(await (await get("/info?interrupt")).json()).toEqual({ status: "interrupted" });
    expect(await (await get("/runs/afakeroute")).json()).toEqual({ route: "mine" });
  });

  it("answers with an HTTPException as it says, with several cookies, and without a body", async () => {
    const error = await get("/custom/error");
    expect([error.status, await error.text()]).toEqual([400, "Bad request"]);
    const cookies = await get("/custom/cookies");
    expect(cookies.status).toBe(204);
    expect(cookies.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect((await get("/custom/hidden")).status).toBe(404);
  });

  it("reads and changes what our routes get: body, headers, form", async () => {
    for (const change of ["cache", "request"]) {
      const thread = await read(post("/threads", { metadata: { mine: 1 } }, { "x-change": change }));
      expect(thread.metadata).toEqual({ changed: change });
    }
    const thread = await read(post("/threads", { metadata: { mine: 1 } }, { "x-change": "read" }));
    expect(thread.metadata).toEqual({ mine: 1 });
    const run = await post(
      `/threads/${thread.thread_id}/runs/wait`,
      { assistant_id: "headers", input: {} },
      { "x-change": "header" },
    );
    expect((await read(run)).told).toMatchObject({ "x-added": "by the app" });
    const form = new FormData();
    form.append("files", new File(["hello"], "a.txt"));
    const upload = await get(`/threads/${thread.thread_id}/uploads`, {
      method: "POST",
      body: form,
      headers: { "x-change": "form" },
    });
    expect(await upload.json()).toMatchObject({ files: [{ filename: "a.txt", size: 5 }] });
  });

  it("changes our answers, whatever their length was", async () => {
    const thread = await heddle.client.threads.create();
    const changed = await get(`/threads/${thread.thread_id}`, { headers: { "x-change": "response" } });
    expect(await changed.text()).toMatch(/\} and more$/);
  });

  it("streams its own answers as they come", async () => {
    const response = await get("/custom/streaming");
    const chunks: string[] = [];
    for await (const chunk of response.body ?? []) chunks.push(Buffer.from(chunk).toString());
    expect(chunks.length).toBeGreaterThanOrEqual(4);
    expect(chunks.join("")).toBe([0, 1, 2, 3, 4].map((i) => `Count: ${i}\n`).join(""));
  });

  it("reads an upload while it is sent", async () => {
    const { port, hostname } = new URL(heddle.url);
    const upload = openRequest({ host: hostname, port, path: "/custom/upload", method: "POST" });
    upload.write(Buffer.alloc(100_000));
    // Half of it is there while the rest is not sent yet: nobody waits for the whole.
    await vi.waitFor(async () => {
      expect((await read(get("/custom/uploaded"))).uploaded).toBe(100_000);
    });
    const answer = new Promise<string>((resolve) => {
      upload.once("response", async (response) => {
        let text = "";
        for await (const chunk of response) text += chunk;
        resolve(text);
      });
    });
    upload.end(Buffer.alloc(100_000));
    expect(JSON.parse(await answer)).toEqual({ uploaded: 200_000 });
  });

  it("lets the limit of our bodies hold, and the checks of what is in them", async () => {
    const large = await post("/threads", { metadata: { text: "x".repeat(17 * 1024 * 1024) } });
    expect(large.status).toBe(413);
    expect((await get("/threads", { method: "POST", body: "{" })).status).toBe(400);
    expect((await get("/threads", { method: "POST" })).status).toBe(200);
  });

  it("lets streams of runs through, and takes a client that goes for gone", async () => {
    const thread = await heddle.client.threads.create();
    const stop = new AbortController();
    const stream = heddle.client.runs.stream(thread.thread_id, "slow", {
      input: {},
      onDisconnect: "cancel",
      signal: stop.signal,
    });
    const first = await stream[Symbol.asyncIterator]().next();
    expect(first.value?.event).toBe("metadata");
    stop.abort();
    await vi.waitFor(
      async () => {
        const [run] = await heddle.client.runs.list(thread.thread_id);
        expect(run?.status).toBe("interrupted");
      },
      { timeout: 5_000 },
    );
    const all = [];
    for await (const event of heddle.client.runs.stream(thread.thread_id, "headers", { input: {} }))
      all.push(event.event);
    expect(all).toEqual(["metadata", "values"]);
  });

  it("is asked once for each request, also from inside", async () => {
    const graphs = ["caller", "headers", "slow"];
    const found = (await (await get("/custom/client")).json()) as { graph_id: string }[];
    expect(found.map((assistant) => assistant.graph_id).sort()).toEqual(graphs);
    expect(await heddle.client.runs.wait(null, "caller", { input: {} })).toEqual({ told: graphs });
    const info = await inProcess("/info");
    expect(info.headers.get("x-middleware")).toBe("seen");
    expect(await (await inProcess("http://elsewhere.example/runs/afakeroute")).json()).toEqual({
      route: "mine",
    });
  });

  it("lets WebSockets through, and refuses them", async () => {
    const open = (query: string) =>
      new Promise((resolve) => {
        const path = `/threads/${randomUUID()}/stream/events${query}`;
        const socket = new WebSocket(heddle.url.replace("http", "ws") + path);
        socket.onopen = () => {
          resolve("open");
          socket.close();
        };
        socket.onerror = () => resolve("refused");
      });
    expect(await open("")).toBe("open");
    expect(await open("?interrupt")).toBe("refused");
  });

  it("refuses a method that the Fetch standard does not have", async () => {
    const { port, hostname } = new URL(heddle.url);
    const status = await new Promise((resolve) => {
      openRequest({ host: hostname, port, path: "/threads", method: "TRACE" })
        .once("response", (response) => resolve(response.resume().statusCode))
        .end();
    });
    expect(status).toBe(422);
  });
});

describe("configurable headers", () => {
  it("are those that langgraph.json includes, without those that it excludes", async () => {
    const client = new Client({
      apiUrl: heddle.url,
      apiKey: "secret",
      defaultHeaders: {
        "x-mine": "1",
        "x-private-one": "2",
        "tenant-a-id": "3",
        authorization: "4",
        other: "5",
      },
    });
    const { told } = (await client.runs.wait(null, "headers", { input: {} })) as { told: object };
    expect(told).toEqual({ "x-mine": "1", "tenant-a-id": "3", authorization: "4" });
  });

  it("are x-… and the user agent without credentials by default", async () => {
    const plain = await startApp({ graphs: project({}), beside: heddle });
    try {
      const client = new Client({
        apiUrl: plain.url,
        apiKey: "secret",
        defaultHeaders: { "x-mine": "1", authorization: "2", cookie: "3" },
      });
      const { told } = (await client.runs.wait(null, "headers", { input: {} })) as { told: object };
      expect(told).toEqual({ "x-mine": "1", "user-agent": expect.any(String) });
    } finally {
      await plain.close();
    }
  });
});

describe("routes that langgraph.json takes away", () => {
  it("are 404, the others are there", async () => {
    const bare = await startApp({
      graphs: project({ disable_assistants: true, disable_runs: true, disable_meta: true }),
      beside: heddle,
    });
    try {
      const status = async (route: string, method = "POST") =>
        (await fetch(bare.url + route, { method, ...(method === "POST" ? { body: "{}" } : {}) })).status;
      const thread = await read(fetch(`${bare.url}/threads`, { method: "POST" }));
      expect(await status("/assistants/search")).toBe(404);
      expect(await status("/runs/wait")).toBe(404);
      expect(await status(`/threads/${thread.thread_id}/runs`, "GET")).toBe(404);
      expect(await status("/info", "GET")).toBe(404);
      expect(await status("/threads/search")).toBe(200);
    } finally {
      await bare.close();
    }
  });
});

describe("an app", () => {
  it("that is no Hono has its 404 for what is ours", async () => {
    const other = await startApp({ graphs: project({ app: `${FOLDER}/app.mts:plain` }), beside: heddle });
    try {
      expect(await (await fetch(`${other.url}/custom/plain`)).json()).toEqual({ plain: true });
      expect((await fetch(`${other.url}/info`)).status).toBe(200);
      const made = await read(
        fetch(`${other.url}/threads`, { method: "POST", body: '{"metadata":{"a":1}}' }),
      );
      expect(made.metadata).toEqual({ a: 1 });
      const nobody = await fetch(`${other.url}/nobody`);
      expect([nobody.status, await nobody.text()]).toEqual([404, "not mine"]);
    } finally {
      await other.close();
    }
  });

  it.each([
    ["./missing.mts:app", /http\.app cannot be loaded: Cannot find module/],
    [`${FOLDER}/app.mts:none`, /http\.app: there is no export "none"; the file exports app, plain, nothing/],
    [`${FOLDER}/app.mts:nothing`, /http\.app: the export "nothing" has no function fetch/],
  ])("that cannot be loaded (%s) ends the start", async (app, message) => {
    await expect(startApp({ graphs: project({ app }), beside: heddle })).rejects.toThrow(message);
  });
});

describe("the server in this process", () => {
  it("is the last that was opened, and none when all are closed", async () => {
    const before = await inProcess("/info");
    expect(before.headers.get("x-middleware")).toBe("seen");
    const other = await startApp({ graphs: project({}), beside: heddle });
    const info = await inProcess("/info");
    expect(info.headers.get("x-middleware")).toBeNull();
    expect(Reflect.get(globalThis, Symbol.for("langgraph_api:url"))).toBe(other.url);
    await other.close();
    const after = await inProcess("/info");
    expect(after.headers.get("x-middleware")).toBe("seen");
  });
});

/** A langgraph.json with the fixtures' graphs and this `http`. */
function project(http: object): string {
  const folder = mkdtempSync(path.join(tmpdir(), "heddle-http-"));
  folders.push(folder);
  const file = path.join(folder, "langgraph.json");
  writeFileSync(file, JSON.stringify({ graphs: { headers: `${FOLDER}/graphs.ts:headers` }, http }));
  return file;
}
const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});
