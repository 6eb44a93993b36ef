// Sessions over HTTP: runs that go on with a conversation on threads of their own, and the conversation as JSON.
import { randomUUID } from "node:crypto";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { startCosmos } from "../helpers/cosmos-stand-in.ts";
import { findRedis } from "../helpers/redis.ts";

const GRAPHS = path.resolve(import.meta.dirname, "../fixtures/sessions/langgraph.json");
const KEYS = { ann: "key-of-ann", bob: "key-of-bob" };
const redis = await findRedis();
let heddle: TestApp;
let cosmos: Awaited<ReturnType<typeof startCosmos>>;

beforeAll(async () => {
  cosmos = await startCosmos();
  Object.assign(process.env, { COSMOS_ENDPOINT: cosmos.options.endpoint, COSMOS_KEY: cosmos.options.key });
  const env = {
    API_KEYS: Object.entries(KEYS)
      .map((pair) => pair.join(":"))
      .join(","),
    ...(redis ? { REDIS_URL: redis.url } : {}),
  };
  heddle = await startApp({ graphs: GRAPHS, env });
});
afterAll(async () => {
  await heddle.close();
  await cosmos.close();
  await redis?.close();
});

const clientOf = (name: keyof typeof KEYS, { url } = heddle) =>
  new Client({ apiUrl: url, apiKey: KEYS[name], callerOptions: { maxRetries: 0 } });
const call = async (method: string, route: string, body?: unknown, name: keyof typeof KEYS = "ann") => {
  const response = await fetch(heddle.url + route, {
    method,
    headers: {
      "x-api-key": KEYS[name],
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
};
/** One stateless run; what it answers. */
const say = async (
  content: string,
  settings: object,
  { name = "ann" as keyof typeof KEYS, app = heddle } = {},
) => {
  const input = { messages: [{ role: "user", content }] };
  const config = { configurable: { ...settings } };
  const state = await clientOf(name, app).runs.wait(null, "agent", { input, config, raiseError: false });
  const { messages = [], __error__ } = state as {
    messages?: { content: string }[];
    __error__?: { message: string };
  };
  return __error__?.message ?? messages.at(-1)?.content;
};
const contents = async (id: string) => {
  const { body } = await call("GET", `/sessions/${id}`);
  return body.chat_message_store_state.messages.map(
    ({ data }: { data: { content: string } }) => data.content,
  );
};

const STORES = ["postgres", "memory", "cosmos", ...(redis ? ["redis"] : [])];
if (!redis) it.skip("sessions in Redis are not tested: there is no redis-server, and no REDIS_URL", () => {});

describe.each(STORES)("a session in %s", (message_store) => {
  it("goes on from run to run, each on a thread of its own, with tool calls and their results", async () => {
    const session = { session_id: randomUUID(), message_store };
    expect(await say("look", session)).toBe("read look||seen");
    expect(await say("go on", session)).toBe("read look||seen|read look||seen|go on");
    expect(await contents(session.session_id)).toHaveLength(6);
    const { body } = await call("GET", `/sessions/${session.session_id}`);
    const [, asked, told] = body.chat_message_store_state.messages;
    expect([body.service_thread_id, asked.data.tool_calls[0].name, told.data.tool_call_id]).toEqual([
      null,
      "look",
      asked.data.tool_calls[0].id,
    ]);
  });

  it("is nobody else's, though he gives his the same id", async () => {
    const session = { session_id: randomUUID(), message_store };
    await say("of ann", session);
    expect(await say("of bob", session, { name: "bob" })).toBe("read of bob");
    expect(await contents(session.session_id)).toEqual(["of ann", "read of ann"]);
  });

  it("is written as JSON, and goes on from it under another id, in another store", async () => {
    const session = { session_id: randomUUID(), message_store };
    await say("look", session);
    const { body: state } = await call("GET", `/sessions/${session.session_id}`);
    const other = randomUUID();
    const target = message_store === "postgres" ? "memory" : "postgres";
    expect((await call("PUT", `/sessions/${other}?message_store=${target}`, state)).status).toBe(204);
    expect((await call("GET", `/sessions/${other}`)).body).toEqual(state);
    expect(await say("go on", { session_id: other })).toBe("read look||seen|read look||seen|go on");
  });

  it("is gone when it is deleted", async () => {
    const session = { session_id: randomUUID(), message_store };
    await say("gone", session);
    expect((await call("DELETE", `/sessions/${session.session_id}`)).status).toBe(204);
    expect((await call("GET", `/sessions/${session.session_id}`)).status).toBe(404);
    expect((await call("DELETE", `/sessions/${session.session_id}`)).status).toBe(404);
    expect(await say("new", session)).toBe("read new");
  });
});

describe("a session", () => {
  it("outlives the server, and is there for every server", async () => {
    const session = { session_id: randomUUID() };
    await say("one", session);
    const other = await startApp({ graphs: GRAPHS, env: { API_KEYS: `ann:${KEYS.ann}` }, beside: heddle });
    try {
      expect(await say("two", session, { app: other })).toBe("read one|read one|two");
    } finally {
      await other.close();
    }
  });

  it("loses nothing when several runs of it end at once", async () => {
    const session = { session_id: randomUUID() };
    const said = Array.from({ length: 8 }, (_, index) => `m${index}`);
    await Promise.all(said.map((text) => say(text, session)));
    const kept = await contents(session.session_id);
    expect(kept).toHaveLength(16);
    for (const text of said) expect(kept[kept.indexOf(text) + 1]).toMatch(new RegExp(`^read .*${text}$`));
  });

  it("has nothing of a run that failed", async () => {
    const session = { session_id: randomUUID() };
    expect(await say("fail", session)).toContain("told to");
    expect(await say("fine", session)).toBe("read fine");
  });

  it("is named by the context as well", async () => {
    const context = { session_id: randomUUID() };
    const input = { messages: [{ role: "user", content: "hi" }] };
    await clientOf("ann").runs.wait(null, "agent", { input, context });
    expect(await contents(context.session_id)).toEqual(["hi", "read hi"]);
  });

  it("that the provider keeps is its id, and nothing of ours", async () => {
    const id = randomUUID();
    const state = { service_thread_id: "conv_1", chat_message_store_state: null };
    expect((await call("PUT", `/sessions/${id}`, state)).status).toBe(204);
    expect((await call("GET", `/sessions/${id}`)).body).toEqual(state);
    expect(await say("hi", { session_id: id, service_thread_id: "conv_1" })).toBe("read hi");
    expect((await call("GET", `/sessions/${id}`)).body).toEqual(state);
  });
});

describe("bad input is refused with what is wrong, and changes nothing", () => {
  const run = (settings: object) =>
    call("POST", "/threads", {}).then(async ({ body: { thread_id } }) => {
      const response = await fetch(`${heddle.url}/threads/${thread_id}/runs`, {
        method: "POST",
        headers: { "x-api-key": KEYS.ann, "content-type": "application/json" },
        body: JSON.stringify({ assistant_id: "agent", input: {}, config: { configurable: settings } }),
      });
      const runs = await call("GET", `/threads/${thread_id}/runs`);
      return [response.status, await response.text(), runs.body.length];
    });

  it("a message store that there is not", async () => {
    const named = 'There is no message store "nowhere"; there is postgres, memory, ';
    expect(await run({ session_id: "s", message_store: "nowhere" })).toEqual([
      422,
      expect.stringContaining(named),
      0,
    ]);
    const put = await call("PUT", "/sessions/s?message_store=nowhere", {
      chat_message_store_state: { messages: [] },
    });
    expect([put.status, put.body.error.message]).toEqual([422, expect.stringContaining(named)]);
    expect((await call("GET", "/sessions/s")).status).toBe(404);
  });

  it("both kinds at once", async () => {
    const both = expect.stringContaining("never by both");
    expect(await run({ session_id: "s", message_store: "memory", service_thread_id: "conv_1" })).toEqual([
      422,
      both,
      0,
    ]);
    const states = [{ service_thread_id: "conv_1", chat_message_store_state: { version: 1, messages: [] } }];
    for (const state of states) {
      const { status, body } = await call("PUT", "/sessions/s", state);
      expect([status, body.error.message]).toEqual([422, both]);
    }
    const query = await call("PUT", "/sessions/s?message_store=memory", { service_thread_id: "conv_1" });
    expect([query.status, query.body.error.message]).toEqual([422, both]);
    expect((await call("GET", "/sessions/s")).status).toBe(404);
  });

  it("a session of one kind as the other, or in another store", async () => {
    const id = randomUUID();
    await say("hi", { session_id: id });
    const kept = expect.stringContaining(`Session "${id}" is kept in the message store "postgres"`);
    expect(await run({ session_id: id, service_thread_id: "conv_1" })).toEqual([409, kept, 0]);
    expect(await run({ session_id: id, message_store: "memory" })).toEqual([409, kept, 0]);
    const put = await call("PUT", `/sessions/${id}`, { service_thread_id: "conv_1" });
    expect([put.status, put.body.error.message]).toEqual([409, kept]);
    expect(await contents(id)).toEqual(["hi", "read hi"]);
  });

  it("settings that are no texts, and states that are none", async () => {
    for (const session_id of [1, "", "x".repeat(256), {}]) {
      expect(await run({ session_id })).toEqual([
        422,
        expect.stringContaining("session_id must be a text"),
        0,
      ]);
    }
    const id = randomUUID();
    await say("hi", { session_id: id });
    const message = { type: "human", data: { content: "fine" } };
    const states: [object, string][] = [
      [{}, "neither"],
      [{ service_thread_id: 5 }, "service_thread_id"],
      [{ chat_message_store_state: { version: 9, messages: [] } }, "version"],
      [{ chat_message_store_state: { messages: [message, { type: "human", data: {} }] } }, "messages[1]"],
      [{ chat_message_store_state: { messages: [{ type: "remove", data: { content: "" } }] } }, '"remove"'],
    ];
    for (const [state, said] of states) {
      const { status, body } = await call("PUT", `/sessions/${id}`, state);
      expect([status, body.error.message]).toEqual([422, expect.stringContaining(said)]);
    }
    expect(await contents(id)).toEqual(["hi", "read hi"]);
  });

  it("a store of one's own that cannot be opened", async () => {
    expect(await say("hi", { session_id: randomUUID(), message_store: "broken" })).toContain(
      'store "broken" could not be opened',
    );
  });
});
