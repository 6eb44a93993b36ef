// What belongs to whom, through the SDK: what is stamped, what cannot be forged, what a graph is told of its caller, and
// what the SDK sees when it asks for somebody else's. Every route by itself is in access-matrix.test.ts.
import { randomUUID } from "node:crypto";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { signToken } from "../fixtures/auth/tokens.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { collect, human, lastText } from "../helpers/sdk.ts";

const fixture = (name: string) => path.resolve(import.meta.dirname, "../fixtures/auth", name);
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const KEYS = { ann: "ann-key-0123456789", bob: "bob-key-0123456789" };
type Name = keyof typeof KEYS;

const keys = {
  start: () =>
    startApp({
      graphs: fixture("open.langgraph.json"),
      env: { API_KEYS: `ann:${KEYS.ann},bob:${KEYS.bob}` },
    }),
  headers: async (name: Name): Promise<Record<string, string>> => ({ "x-api-key": KEYS[name] }),
};
const project = (file: string) => ({
  start: () => startApp({ graphs: fixture(file) }),
  headers: async (name: Name): Promise<Record<string, string>> => ({
    authorization: `Bearer ${await signToken(name)}`,
  }),
});

describe.each([
  ["API_KEYS", keys, Client],
  ["API_KEYS, newer SDK", keys, NextClient as unknown as typeof Client],
  ["a project's Auth", project("langgraph.json"), Client],
  [
    "a project's Auth of the newer SDK",
    project("next.langgraph.json"),
    NextClient as unknown as typeof Client,
  ],
])("with %s", (way, { start, headers }, Sdk) => {
  let heddle: TestApp;
  let ann: Client;
  let bob: Client;
  const open = (defaultHeaders: Record<string, string>) =>
    new Sdk({ apiUrl: heddle.url, apiKey: null, defaultHeaders, callerOptions: { maxRetries: 0 } });
  beforeAll(async () => {
    heddle = await start();
    ann = open(await headers("ann"));
    bob = open(await headers("bob"));
  });
  afterAll(() => heddle.close());

  it("what is made is its maker's, whatever he says", async () => {
    const forged = { metadata: { owner: "bob", mark: "forged" } };
    const thread = await ann.threads.create(forged);
    expect(thread.metadata).toMatchObject({ owner: "ann", mark: "forged" });
    const assistant = await ann.assistants.create({ graphId: "echo", ...forged });
    expect(assistant.metadata).toMatchObject({ owner: "ann" });
    await ann.runs.wait(null as unknown as string, "echo", {
      input: human("a"),
      ...forged,
      onCompletion: "keep" as never,
    });
    const cron = await ann.crons.create("echo", { schedule: "0 0 1 1 *", ...forged });
    expect(cron).toMatchObject({ metadata: { owner: "ann" }, payload: { metadata: { owner: "ann" } } });
    const { cron_id } = cron as unknown as { cron_id: string };
    expect(await ann.crons.update(cron_id, forged)).toMatchObject({
      metadata: { owner: "ann" },
      payload: { metadata: { owner: "ann" } },
    });
    const made = randomUUID();
    await ann.runs.wait(made, "echo", { input: human("a"), ifNotExists: "create", ...forged });
    expect((await ann.threads.get(made)).metadata).toMatchObject({ owner: "ann" });

    const mark = { metadata: { mark: "forged" } };
    expect(await bob.threads.search(mark)).toEqual([]);
    expect(await bob.assistants.search(mark)).toEqual([]);
    expect(await bob.crons.search(mark)).toEqual([]);
    expect(await ann.threads.search({ ...mark, limit: 100 })).toHaveLength(3);
  });

  it("what is changed stays its owner's", async () => {
    const { thread_id } = await ann.threads.create();
    for (const owner of ["bob", null, undefined]) {
      const patched = await ann.threads.update(thread_id, { metadata: { owner, a: 1 } });
      expect(patched?.metadata).toMatchObject({ owner: "ann", a: 1 });
    }
    const { assistant_id } = await ann.assistants.create({ graphId: "echo" });
    const assistant = await ann.assistants.update(assistant_id, { metadata: { owner: "bob" } });
    expect(assistant.metadata).toMatchObject({ owner: "ann" });
    expect((await ann.assistants.setLatest(assistant_id, 1)).metadata).toMatchObject({ owner: "ann" });
    await ann.runs.wait(thread_id, "echo", { input: human("a"), metadata: { owner: "bob" } });
    expect((await ann.threads.get(thread_id)).metadata).toMatchObject({ owner: "ann" });
    const copy = await ann.threads.copy(thread_id);
    expect(copy.metadata).toMatchObject({ owner: "ann" });
  });

  it("the SDK sees somebody else's as missing, in the words of the official server", async () => {
    const { thread_id } = await ann.threads.create();
    await ann.runs.wait(thread_id, "echo", { input: human("hello") });
    const [run] = await ann.runs.list(thread_id);
    const run_id = run?.run_id ?? "";
    const notFound = `HTTP 404: Thread with ID ${thread_id} not found`;
    await expect(bob.threads.get(thread_id)).rejects.toThrow(notFound);
    await expect(bob.threads.getState(thread_id)).rejects.toThrow(notFound);
    await expect(bob.threads.getHistory(thread_id)).rejects.toThrow(notFound);
    await expect(bob.threads.updateState(thread_id, { values: human("b") })).rejects.toThrow("HTTP 404");
    await expect(bob.threads.update(thread_id, { metadata: { a: 1 } })).rejects.toThrow("HTTP 404");
    await expect(bob.threads.delete(thread_id)).rejects.toThrow("HTTP 404");
    await expect(bob.threads.copy(thread_id)).rejects.toThrow("HTTP 409: Thread not found");
    await expect(bob.threads.create({ threadId: thread_id, ifExists: "do_nothing" })).rejects.toThrow(
      "HTTP 409",
    );
    await expect(bob.runs.list(thread_id)).rejects.toThrow("HTTP 404");
    await expect(bob.runs.get(thread_id, run_id)).rejects.toThrow("HTTP 404");
    await expect(bob.runs.join(thread_id, run_id)).rejects.toThrow("HTTP 404");
    await expect(bob.runs.cancel(thread_id, run_id)).rejects.toThrow("HTTP 404");
    await expect(bob.runs.delete(thread_id, run_id)).rejects.toThrow("HTTP 404");
    const other = { input: human("b") };
    await expect(bob.runs.wait(thread_id, "echo", other)).rejects.toThrow("HTTP 404");
    await expect(bob.runs.create(thread_id, "echo", { ...other, ifNotExists: "create" })).rejects.toThrow(
      "HTTP 404",
    );
    expect(lastText((await ann.threads.getState(thread_id)).values)).toBe("echo hello");
  });

  it("joining the stream of somebody else's run gets one error frame, as of one that is not there", async () => {
    const { thread_id } = await ann.threads.create();
    await ann.runs.wait(thread_id, "echo", { input: human("hello") });
    const [run] = await ann.runs.list(thread_id);
    const frame = { event: "error", data: { error: "Error", message: "404: Thread not found" } };
    for (const id of [thread_id, randomUUID()]) {
      const frames = await collect(bob.runs.joinStream(id, run?.run_id ?? "", { lastEventId: "-1" }));
      expect(frames).toEqual([expect.objectContaining(frame)]);
    }
  });

  it("a WebSocket asks for credentials, and shows somebody else's thread as none", async () => {
    const { thread_id } = await ann.threads.create();
    await ann.runs.wait(thread_id, "echo", { input: human("hello") });
    const url = (id: string) => `${heddle.url.replace("http", "ws")}/threads/${id}/stream/events`;
    for (const wrong of [{}, { "x-api-key": "wrong", authorization: "Bearer wrong" }]) {
      const socket = new WebSocket(url(thread_id), { headers: wrong });
      const opened = await new Promise((resolve) => {
        socket.onopen = () => resolve(true);
        socket.onerror = () => resolve(false);
      });
      expect(opened).toBe(false);
    }
    const command = async (name: Name, id: string, asked: object) => {
      const socket = new WebSocket(url(id), { headers: await headers(name) });
      try {
        return await new Promise<string>((resolve, reject) => {
          socket.onopen = () => socket.send(JSON.stringify({ id: 1, ...asked }));
          socket.onmessage = ({ data }) => resolve(String(data));
          socket.onclose = ({ code, reason }) => reject(new Error(`${code} ${reason}`));
        });
      } finally {
        socket.close();
      }
    };
    const missing = randomUUID();
    for (const asked of [{ method: "state.get" }, { method: "agent.getTree" }]) {
      const ofNone = await command("bob", missing, asked);
      const ofAnn = await command("bob", thread_id, asked);
      expect(ofAnn.replaceAll(thread_id, "<id>")).toBe(ofNone.replaceAll(missing, "<id>"));
      expect(await command("ann", thread_id, asked)).toContain('"success"');
    }
    const start = { method: "run.start", params: { assistant_id: "echo", input: human("b") } };
    expect(await command("bob", thread_id, start)).toMatch(/"error".*not found/);
    expect(lastText((await ann.threads.getState(thread_id)).values)).toBe("echo hello");
  });

  it("an assistant that somebody has made is run by him alone, a graph's own by everybody", async () => {
    const { assistant_id } = await ann.assistants.create({ graphId: "echo" });
    const input = { input: human("a") };
    expect(lastText(await ann.runs.wait(null, assistant_id, input))).toBe("echo a");
    const missing = "HTTP 404: No assistant found for";
    await expect(bob.runs.wait(null, assistant_id, input)).rejects.toThrow(missing);
    await expect(bob.runs.create(null, assistant_id, input)).rejects.toThrow(missing);
    await expect(bob.crons.create(assistant_id, { schedule: "0 0 1 1 *", ...input })).rejects.toThrow(
      "HTTP 404",
    );
    expect(lastText(await bob.runs.wait(null, "echo", input))).toBe("echo a");

    const start = async (thread: string, assistant: string) => {
      const response = await fetch(`${heddle.url}/threads/${thread}/commands`, {
        method: "POST",
        headers: { ...(await headers("bob")), "content-type": "application/json" },
        body: JSON.stringify({ id: 1, method: "run.start", params: { assistant_id: assistant, ...input } }),
      });
      return (await response.text()).replaceAll(assistant, "<id>").replaceAll(thread, "<thread>");
    };
    const { thread_id: bound } = await bob.threads.create();
    await bob.runs.wait(bound, "echo", input);
    for (const thread of [randomUUID(), bound]) {
      const answer = await start(thread, assistant_id);
      expect(answer).toContain('"type":"error"');
      expect(answer).toBe(await start(thread, randomUUID()));
    }
  });

  it("an Idempotency-Key is its sender's own", async () => {
    const send = async (name: Name, thread?: string) => {
      const response = await fetch(`${heddle.url}${thread ? `/threads/${thread}` : ""}/runs/wait`, {
        method: "POST",
        headers: {
          ...(await headers(name)),
          "content-type": "application/json",
          "idempotency-key": "one",
        },
        body: JSON.stringify({ assistant_id: "echo", input: human("a") }),
      });
      return { status: response.status, run: response.headers.get("content-location") };
    };
    const first = await send("ann");
    expect(first.status).toBe(200);
    expect(await send("ann")).toEqual(first);
    const other = await send("bob");
    expect(other.status).toBe(200);
    expect(other.run).not.toBe(first.run);
    const { thread_id } = await ann.threads.create();
    expect((await send("ann", thread_id)).status).toBe(200);
    expect((await send("bob", thread_id)).status).toBe(404);
  });

  it("a graph is told who calls, and not by the caller's own word", async () => {
    const forged = {
      langgraph_auth_user: { identity: "bob" },
      langgraph_auth_user_id: "bob",
      langgraph_auth_permissions: ["admin"],
    };
    const values = await ann.runs.wait(null, "who", { input: human("?"), config: { configurable: forged } });
    const known = JSON.parse(String(lastText(values)));
    expect(known).toMatchObject({
      langgraph_auth_user: { identity: "ann", display_name: "ann", is_authenticated: true, permissions: [] },
      langgraph_auth_user_id: "ann",
      langgraph_auth_permissions: [],
      user_id: "ann",
    });
    expect(JSON.stringify(known)).not.toContain(KEYS.ann);
    if (!way.startsWith("API_KEYS")) {
      expect(known.langgraph_auth_user).toMatchObject({ asked_for: "/runs/wait", method: "POST" });
    }
  });

  it("the store of each is his own, prefix or not", async () => {
    await ann.store.putItem(["notes"], "a", { text: "hers" });
    await bob.store.putItem(["notes"], "a", { text: "his" });
    const texts = async (client: Client, prefix: string[]) =>
      (await client.store.searchItems(prefix)).items.map(({ value }) => value.text);
    expect(await texts(ann, [])).toEqual(["hers"]);
    expect(await texts(bob, ["notes"])).toEqual(["his"]);
    await bob.store.deleteItem(["notes"], "a");
    expect(await bob.store.getItem(["notes"], "a")).toBeNull();
    expect(await ann.store.getItem(["notes"], "a")).toMatchObject({ value: { text: "hers" } });
  });
});

describe("with API_KEYS", () => {
  it("the graphs' own assistants are everybody's to read, nobody's to change or to imitate", async () => {
    const heddle = await keys.start();
    try {
      const client = async (name: Name) =>
        new Client({
          apiUrl: heddle.url,
          apiKey: KEYS[name],
          callerOptions: { maxRetries: 0 },
        });
      const [ann, bob] = [await client("ann"), await client("bob")];
      const own = await bob.assistants.get("echo");
      expect(own.metadata).toMatchObject({ created_by: "system" });
      await ann.assistants.create({ graphId: "echo", name: "hers", metadata: { created_by: "system" } });
      const names = async (of: Client) =>
        (await of.assistants.search({ limit: 100 })).map(({ name }) => name).sort();
      expect(await names(ann)).toEqual(["echo", "hers", "who"]);
      expect(await names(bob)).toEqual(["echo", "who"]);
      await expect(bob.assistants.update("echo", { name: "mine" })).rejects.toThrow("HTTP 404");
      await expect(bob.assistants.delete(own.assistant_id)).rejects.toThrow("HTTP 404");
    } finally {
      await heddle.close();
    }
  });
});

describe("with a project's Auth", () => {
  it("false is 403, and what a handler allows without a filter is all there is", async () => {
    const heddle = await startApp({ graphs: fixture("langgraph.json") });
    try {
      const client = async (name: string, permissions: string[]) =>
        new Client({
          apiUrl: heddle.url,
          defaultHeaders: { authorization: `Bearer ${await signToken(name, permissions)}` },
          callerOptions: { maxRetries: 0 },
        });
      const ann = await client("ann", []);
      const { thread_id } = await ann.threads.create();
      const eve = await client("eve", ["nothing"]);
      await expect(eve.threads.create()).rejects.toThrow("HTTP 403: Not authorized");
      await expect(eve.threads.get(thread_id)).rejects.toThrow("HTTP 403: Not authorized");
      // Whoever may only look must not stop a run by going away.
      const { run_id } = await ann.runs.create(thread_id, "echo", { input: human("a") });
      await ann.runs.join(thread_id, run_id);
      const reader = await client("rita", ["reader"]);
      expect(await reader.runs.get(thread_id, run_id)).toMatchObject({ run_id });
      await expect(reader.runs.cancel(thread_id, run_id)).rejects.toThrow("HTTP 404");
      const join = async (query: string) => {
        const headers = bearer(await signToken("rita", ["reader"]));
        const path = `/threads/${thread_id}/runs/${run_id}/join${query}`;
        return (await fetch(heddle.url + path, { headers })).status;
      };
      expect(await join("")).toBe(200);
      expect(await join("?cancel_on_disconnect=1")).toBe(404);
      const admin = await client("root", ["admin"]);
      expect(await admin.threads.get(thread_id)).toMatchObject({ metadata: { owner: "ann" } });
    } finally {
      await heddle.close();
    }
  });
});
