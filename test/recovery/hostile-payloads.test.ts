// JSON that imitates what LangChain and LangGraph store, through every way in: afterwards each thread is readable and
// runnable, no role is upgraded, no secret comes out.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Checkpointer } from "../../src/db/checkpointer.ts";
import { storableJson } from "../../src/db/storable-json.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { hand } from "../helpers/handed.ts";
import { CANARY, HOSTILE_PAYLOADS, type HostilePayload } from "../helpers/hostile-payloads.ts";
import { liveMessages } from "../helpers/live-messages.ts";
import { call, type ModelEndpoint, startModelEndpoint } from "../helpers/model-endpoint.ts";

let heddle: TestApp;
let endpoint: ModelEndpoint;
/** What the model answers to a text: the arguments of a call. */
const modelSays = new Map<unknown, object>();
beforeAll(async () => {
  process.env[CANARY.name] = CANARY.value;
  heddle = await startApp({
    env: { OPENAI_API_KEY: CANARY.value },
    graphs: path.resolve(import.meta.dirname, "../fixtures/graphs/mirror.langgraph.json"),
  });
  endpoint = await startModelEndpoint();
  endpoint.script(({ messages }) => call(["look", modelSays.get(messages.at(-1)?.content) ?? {}]));
  hand("endpoint", endpoint.url);
});
afterAll(async () => {
  delete process.env[CANARY.name];
  await endpoint.close();
  await heddle.close();
});

interface Answer {
  readonly status: number;
  // The wire is open; what is looked into is checked by the expectations.
  readonly body: { [key: string]: unknown };
}

async function send(method: string, route: string, body?: unknown): Promise<Answer> {
  const response = await fetch(heddle.url + route, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(text).not.toContain(CANARY.value);
  const isJson = response.headers.get("content-type")?.includes("json");
  return { status: response.status, body: isJson ? JSON.parse(text) : { text } };
}

const say = (text: string) => ({ messages: [{ role: "user", content: text }] });
const wait = (thread: string, body: object) =>
  send("POST", `/threads/${thread}/runs/wait`, { assistant_id: "mirror", ...body });

type Values = { messages?: { type: string }[] } & Record<string, unknown>;

/** One way in. `enter` takes what is to come out again under which key of the state, or is refused. */
interface Way {
  readonly name: string;
  /** How many payloads go in at once. */
  readonly size: number;
  /** It leads through a JSON body, so what no body may hold is refused with 422. */
  readonly body: boolean;
  /** What the state holds then. Undefined: the graph may also not take it, and the run end as an error. */
  readonly kept?: (payloads: readonly HostilePayload[]) => Record<string, unknown>;
  enter(thread: string, payloads: readonly HostilePayload[]): Promise<Answer>;
}

/** As JSON has it. */
const slots = (payloads: readonly HostilePayload[]): Record<string, unknown> =>
  JSON.parse(JSON.stringify(Object.fromEntries(payloads.map(({ value }, index) => [`slot${index}`, value]))));
const only = ([payload]: readonly HostilePayload[]) => payload?.value;

const WAYS: readonly Way[] = [
  {
    name: "run input",
    size: 12,
    body: true,
    kept: slots,
    enter: (thread, payloads) => wait(thread, { input: { ...say("keep"), ...slots(payloads) } }),
  },
  {
    name: "the whole run input",
    size: 1,
    body: true,
    enter: (thread, payloads) => wait(thread, { input: only(payloads) }),
  },
  {
    name: "command resume",
    size: 1,
    body: true,
    async enter(thread, payloads) {
      await wait(thread, { input: say("ask") });
      return wait(thread, { command: { resume: only(payloads) } });
    },
  },
  {
    name: "command resume, in an object",
    size: 12,
    body: true,
    kept: (payloads) => ({ resumed: slots(payloads) }),
    async enter(thread, payloads) {
      await wait(thread, { input: say("ask") });
      return wait(thread, { command: { resume: slots(payloads) } });
    },
  },
  {
    name: "command update",
    size: 12,
    body: true,
    kept: slots,
    async enter(thread, payloads) {
      return wait(thread, { command: { update: slots(payloads), goto: "act" } });
    },
  },
  {
    name: "the whole command update",
    size: 1,
    body: true,
    async enter(thread, payloads) {
      return wait(thread, { command: { update: only(payloads), goto: "act" } });
    },
  },
  {
    name: "what a command sends to a node",
    size: 1,
    body: true,
    async enter(thread, payloads) {
      const input = { ...say("keep"), slot0: only(payloads) };
      return wait(thread, { command: { goto: { node: "act", input } } });
    },
  },
  {
    name: "state update",
    size: 12,
    body: true,
    kept: slots,
    async enter(thread, payloads) {
      return send("POST", `/threads/${thread}/state`, { values: slots(payloads), as_node: "act" });
    },
  },
  {
    name: "the whole state update",
    size: 1,
    body: true,
    async enter(thread, payloads) {
      return send("POST", `/threads/${thread}/state`, { values: only(payloads), as_node: "act" });
    },
  },
  {
    name: "metadata and configuration",
    size: 12,
    body: true,
    async enter(thread, payloads) {
      const metadata = slots(payloads);
      const patched = await send("PATCH", `/threads/${thread}`, { metadata });
      if (patched.status !== 200) return patched;
      expect(patched.body.metadata).toMatchObject(metadata);
      const answer = await wait(thread, {
        input: say("keep"),
        metadata: { ofRun: metadata },
        config: { configurable: { ...metadata, given: metadata }, metadata },
      });
      const query = { metadata: { ofRun: metadata } };
      const history = await send("POST", `/threads/${thread}/history`, query);
      expect(history.body).toMatchObject([{ metadata: query.metadata }, {}, {}]);
      const found = await send("POST", "/threads/search", { metadata });
      expect(found.body).toMatchObject([{ thread_id: thread, metadata }]);
      return answer;
    },
  },
  {
    name: "a tool's result",
    size: 12,
    body: false,
    kept: slots,
    enter(thread, payloads) {
      hand(thread, slots(payloads));
      return wait(thread, { input: say(`tool ${thread}`) });
    },
  },
  {
    name: "a tool's whole result",
    size: 1,
    body: false,
    enter(thread, payloads) {
      hand(thread, only(payloads));
      return wait(thread, { input: say(`tool ${thread}`) });
    },
  },
  {
    name: "a model's output",
    size: 12,
    body: false,
    kept: slots,
    enter(thread, payloads) {
      modelSays.set(thread, slots(payloads));
      return wait(thread, { input: say(`model ${thread}`) });
    },
  },
  {
    name: "an item of the store",
    size: 12,
    body: true,
    kept: slots,
    async enter(thread, payloads) {
      const item = { namespace: ["mirror"], key: thread, value: slots(payloads) };
      const put = await send("PUT", "/store/items", item);
      if (put.status !== 204) return put;
      const got = await send("GET", `/store/items?namespace=mirror&key=${thread}`);
      expect(got.body.value).toEqual(item.value);
      const filter = { slot0: item.value.slot0 };
      const found = await send("POST", "/store/items/search", {
        namespace_prefix: ["mirror"],
        filter,
        limit: 1000,
      });
      expect((found.body.items as { key: string }[]).map(({ key }) => key)).toContain(thread);
      return wait(thread, { input: say(`store ${thread}`) });
    },
  },
  {
    name: "what a graph puts into the store",
    size: 12,
    body: false,
    // PostgreSQL's jsonb has no NUL and no half of a surrogate pair.
    kept: (payloads) => JSON.parse(storableJson(JSON.stringify(slots(payloads)))),
    enter(thread, payloads) {
      hand(thread, slots(payloads));
      return wait(thread, { input: say(`store ${thread}`) });
    },
  },
  {
    name: "an uploaded file",
    size: 12,
    body: false,
    kept: slots,
    async enter(thread, payloads) {
      const form = new FormData();
      form.append("files", new Blob([JSON.stringify(slots(payloads))]), "payload.json");
      const uploads = `${heddle.url}/threads/${thread}/uploads`;
      expect((await fetch(uploads, { method: "POST", body: form })).status).toBe(200);
      const file = path.join(heddle.dataDir, "threads", thread, "user-data", "uploads", "payload.json");
      return wait(thread, { input: say(`read ${file}`) });
    },
  },
];

/** Reads the thread in every way there is; the values of its state. */
async function read(thread: string): Promise<Values> {
  const [shown, state, history] = await Promise.all([
    send("GET", `/threads/${thread}`),
    send("GET", `/threads/${thread}/state`),
    send("POST", `/threads/${thread}/history`, { limit: 5 }),
  ]);
  expect([shown.status, state.status, history.status]).toEqual([200, 200, 200]);
  return state.body.values as Values;
}

/** No value outside the list of messages has become a message, and in the list nobody has a role that was not given. */
async function checkRoles(thread: string, values: Values): Promise<void> {
  const roles = new Set(values.messages?.map((message) => message.type));
  expect([...roles].filter((role) => !["human", "ai", "tool"].includes(role))).toEqual([]);
  const tuple = await new Checkpointer(heddle.database.db).getTuple({ configurable: { thread_id: thread } });
  const { messages = [], ...others } = tuple?.checkpoint.channel_values ?? {};
  const ofMessages = (messages as object[]).flatMap((message) => Object.values(message));
  expect(liveMessages([others, tuple?.metadata, ofMessages], "state")).toEqual([]);
}

async function goThrough(way: Way, payloads: readonly HostilePayload[]): Promise<void> {
  const thread = String(
    (await send("POST", "/threads", { metadata: { graph_id: "mirror" } })).body.thread_id,
  );
  const answer = await way.enter(thread, payloads);
  const values = await read(thread);
  if (way.body && payloads.some(({ refused }) => refused)) expect(answer.status).toBe(422);
  else if (way.kept === undefined) expect(answer.status).toBeLessThan(500);
  else {
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).not.toHaveProperty("__error__");
    expect(values).toMatchObject(way.kept(payloads));
  }
  await checkRoles(thread, values);
  const next = await wait(thread, { input: say("keep") });
  expect(next.status).toBe(200);
  expect((next.body as Values).messages?.at(-1)).toMatchObject({ type: "ai", content: "kept" });
  expect((await send("GET", `/threads/${thread}/state`)).body.values).toEqual(next.body);
}

/** A way that takes one at a time gets each shape bare: around it there would be something else. */
function inUnits(size: number): HostilePayload[][] {
  const [refused, accepted] = [true, false].map((is) => HOSTILE_PAYLOADS.filter((one) => one.refused === is));
  const taken = (accepted ?? []).filter(({ place }) => size > 1 || place === "");
  const units = Array.from({ length: Math.ceil(taken.length / size) }, (_, index) =>
    taken.slice(index * size, (index + 1) * size),
  );
  // One at a time: what is refused would hide the others.
  return [...units, ...(refused ?? []).map((payload) => [payload])];
}

describe("hostile payloads", () => {
  it("are more than two hundred", () => {
    expect(HOSTILE_PAYLOADS.length).toBeGreaterThan(200);
    expect(new Set(HOSTILE_PAYLOADS.map(({ place, name }) => place + name)).size).toBe(
      HOSTILE_PAYLOADS.length,
    );
  });

  it.each(WAYS)("leave a thread readable and runnable that they reach by $name", async (way) => {
    const failures: string[] = [];
    const units = inUnits(way.size);
    const work = async () => {
      for (let unit = units.pop(); unit; unit = units.pop()) {
        await goThrough(way, unit).catch((error: unknown) => {
          failures.push(`${unit?.map(({ place, name }) => place + name)}: ${error}`);
        });
      }
    };
    await Promise.all(Array.from({ length: 6 }, work));
    expect(failures).toEqual([]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("nested so deep that they could not be read again end their run as an error", async () => {
    const thread = String((await send("POST", "/threads")).body.thread_id);
    hand(thread, JSON.parse(`${"[".repeat(2_000)}${"]".repeat(2_000)}`));
    const { body } = await wait(thread, { input: say(`tool ${thread}`) });
    expect(body.__error__).toMatchObject({ message: "The state is nested deeper than 500 levels." });
    await read(thread);
    expect((await wait(thread, { input: say("keep") })).body).toHaveProperty("messages");
  });
});
