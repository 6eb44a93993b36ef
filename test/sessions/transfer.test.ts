// Threads that are taken from one Heddle to another as a file: all of them, once, and never half.
import { randomUUID } from "node:crypto";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { human, lastText } from "../helpers/sdk.ts";

const GRAPHS = path.resolve(import.meta.dirname, "../fixtures/sessions/langgraph.json");
const KEYS = { ann: "key-of-ann", bob: "key-of-bob" };
const env = { API_KEYS: `ann:${KEYS.ann},bob:${KEYS.bob}`, MAX_IMPORT_MB: "1" };
let here: TestApp;
let there: TestApp;
beforeAll(async () => {
  [here, there] = await Promise.all([startApp({ graphs: GRAPHS, env }), startApp({ graphs: GRAPHS, env })]);
});
afterAll(async () => {
  await here.close();
  await there.close();
});

type Name = keyof typeof KEYS;
interface Answer {
  readonly thread_id?: string;
  readonly checkpoints?: number;
  readonly error?: { readonly code: string; readonly message: string };
}
const clientOf = ({ url }: TestApp, name: Name = "ann") =>
  new Client({ apiUrl: url, apiKey: KEYS[name], callerOptions: { maxRetries: 0 } });
const exportFrom = (app: TestApp, id: string, name: Name = "ann") =>
  fetch(`${app.url}/threads/${id}/export`, { headers: { "x-api-key": KEYS[name] } });
const fileOf = async (app: TestApp, id: string) => {
  const response = await exportFrom(app, id);
  expect(response.status).toBe(200);
  return response.text();
};
const importTo = async (app: TestApp, file: string | Buffer | ReadableStream, name: Name = "ann") => {
  const response = await fetch(`${app.url}/threads/import`, {
    method: "POST",
    headers: { "x-api-key": KEYS[name], "content-type": "application/x-ndjson" },
    body: file,
    ...(file instanceof ReadableStream ? { duplex: "half" } : {}),
  });
  return { status: response.status, body: (await response.json()) as Answer };
};

/** Two turns, a fork of the first, and a question that waits. */
async function converse(app: TestApp): Promise<string> {
  const client = clientOf(app);
  const { thread_id } = await client.threads.create({ metadata: { topic: "wool" } });
  await client.runs.wait(thread_id, "script", { input: human("say one") });
  const first = await client.threads.getState(thread_id);
  await client.runs.wait(thread_id, "script", { input: human("say two") });
  const { checkpoint_id } = first.checkpoint ?? {};
  await client.runs.wait(thread_id, "script", {
    input: human("ask three"),
    ...(checkpoint_id ? { checkpointId: checkpoint_id } : {}),
  });
  return thread_id;
}
/** All that can be seen of it, but for times of its row. */
async function look(app: TestApp, id: string) {
  const client = clientOf(app);
  const { status, metadata, config, interrupts, values } = await client.threads.get(id);
  const history = await client.threads.getHistory(id, { limit: 100 });
  return { status, metadata, config, interrupts, values, history };
}

describe("a thread", () => {
  it("is the same elsewhere, with its history, forks, and the question that waits; and goes on there", async () => {
    const id = await converse(here);
    const file = await fileOf(here, id);
    expect(JSON.parse(file.split("\n")[0] ?? "")).toMatchObject({
      heddle: "thread",
      version: 1,
      thread: { thread_id: id },
    });
    const { status, body } = await importTo(there, file);
    const before = await look(here, id);
    const { metadata } = before;
    expect([status, body]).toEqual([200, { thread_id: id, metadata, checkpoints: before.history.length }]);
    expect(await look(there, id)).toEqual(before);
    expect(before.status).toBe("interrupted");
    for (const app of [here, there]) {
      const state = await clientOf(app).runs.wait(id, "script", { command: { resume: "yes" } });
      expect(lastText(state)).toContain("yes");
    }
  });

  it("is there once, however often its file comes, and an old file takes nothing back", async () => {
    const id = await converse(here);
    const old = await fileOf(here, id);
    await clientOf(here).runs.wait(id, "script", { command: { resume: "yes" } });
    const file = await fileOf(here, id);
    const results = await Promise.all([1, 2, 3].map(() => importTo(there, file)));
    const counts = results.map(({ body }) => body.checkpoints ?? -1);
    const { history } = await look(here, id);
    expect(counts.toSorted((a, b) => a - b)).toEqual([0, 0, history.length]);
    const before = await look(there, id);
    expect(await importTo(there, old)).toMatchObject({
      status: 200,
      body: { thread_id: id, checkpoints: 0 },
    });
    expect(await importTo(here, file)).toMatchObject({
      status: 200,
      body: { thread_id: id, checkpoints: 0 },
    });
    expect(await look(there, id)).toEqual(before);
  });

  it("goes there, goes on, and comes back; one that has gone on on both sides is refused", async () => {
    const id = await converse(here);
    await importTo(there, await fileOf(here, id));
    await clientOf(there).runs.wait(id, "script", { command: { resume: "there" } });
    const gone = await fileOf(there, id);
    expect((await importTo(here, gone)).status).toBe(200);
    expect(await look(here, id)).toEqual(await look(there, id));
    await clientOf(there).runs.wait(id, "script", { input: human("say four") });
    await clientOf(here).runs.wait(id, "script", { input: human("say five") });
    const before = await look(here, id);
    const { status, body } = await importTo(here, await fileOf(there, id));
    expect([status, body.error]).toMatchObject([
      409,
      { code: "import_conflict", message: expect.stringContaining("both sides") },
    ]);
    expect(await look(here, id)).toEqual(before);
  });

  it("that has never run is a thread as well", async () => {
    const { thread_id } = await clientOf(here).threads.create({ metadata: { empty: true } });
    expect(await importTo(there, await fileOf(here, thread_id))).toMatchObject({
      status: 200,
      body: { thread_id, checkpoints: 0 },
    });
    expect((await clientOf(there).threads.get(thread_id)).metadata).toMatchObject({ empty: true });
  });

  it("takes no file while it has a run that is not done", async () => {
    const id = await converse(here);
    const file = await fileOf(here, id);
    await clientOf(here).runs.create(id, "script", { input: human("say later"), afterSeconds: 3_600 });
    const { status, body } = await importTo(here, file);
    expect([status, body.error?.code]).toEqual([409, "thread_busy"]);
  });

  it("has its session with it, unless there is one of that id already", async () => {
    const session_id = randomUUID();
    const say = (app: TestApp, threadId: string | null, content: string) =>
      clientOf(app).runs.wait(threadId as string, "agent", {
        input: human(content),
        config: { configurable: { session_id } },
      });
    const { thread_id } = await clientOf(here).threads.create();
    await say(here, null, "before");
    await say(here, thread_id, "look");
    const file = await fileOf(here, thread_id);
    await importTo(there, file);
    expect(lastText(await say(there, null, "go on"))).toBe(
      "read before|read before|look||seen|read before|read before|look||seen|go on",
    );
    const sessionOf = async () =>
      (
        await fetch(`${there.url}/sessions/${session_id}`, { headers: { "x-api-key": KEYS.ann } })
      ).json() as Promise<{
        chat_message_store_state: { messages: unknown[] };
      }>;
    const kept = await sessionOf();
    expect(kept.chat_message_store_state.messages).toHaveLength(8);
    await importTo(there, file);
    expect(await sessionOf()).toEqual(kept);
  });
});

describe("what its conversation has learned", () => {
  const conversationOf = async (app: TestApp, id: string, values?: object) => {
    const response = await fetch(`${app.url}/threads/${id}/conversation`, {
      headers: { "x-api-key": KEYS.ann, ...(values ? { "content-type": "application/json" } : {}) },
      ...(values ? { method: "PATCH", body: JSON.stringify({ values }) } : {}),
    });
    return (await response.json()) as { version: number; values: object };
  };
  const learned = { objective: "Why?", keyInsights: ["wool is warm"], currentLevel: 2 };

  it("goes with it, and is told to who follows it there", async () => {
    const { thread_id: id } = await clientOf(here).threads.create();
    await conversationOf(here, id, learned);
    await conversationOf(here, id, { discoveries: [{ claim: "it felts" }] });
    await clientOf(there).threads.create({ threadId: id });
    const stop = new AbortController();
    const { body } = await fetch(`${there.url}/threads/${id}/notifications`, {
      headers: { "x-api-key": KEYS.ann },
      signal: stop.signal,
    });
    const told = body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await told?.read())?.value).toContain("connected");
    await importTo(there, await fileOf(here, id));
    expect((await told?.read())?.value).toMatch(/"type":"state:updated".*"version":1/);
    stop.abort();
    expect(await conversationOf(there, id)).toMatchObject({
      version: 1,
      values: { ...learned, discoveries: [{ claim: "it felts" }] },
    });
  });

  it("stays what it is where it has learned something already", async () => {
    const { thread_id: id } = await clientOf(here).threads.create();
    await conversationOf(here, id, learned);
    const file = await fileOf(here, id);
    await importTo(there, file);
    await importTo(there, file);
    expect(await conversationOf(there, id)).toMatchObject({ version: 1, values: learned });
    await conversationOf(there, id, { currentLevel: 3 });
    await importTo(there, file);
    expect(await conversationOf(there, id)).toMatchObject({
      version: 2,
      values: { ...learned, currentLevel: 3 },
    });
  });
});

describe("somebody else's thread", () => {
  it("is not given away, and is as if it were not there", async () => {
    const id = await converse(here);
    const answer = async (thread: string) => {
      const response = await exportFrom(here, thread, "bob");
      return [response.status, (await response.text()).replaceAll(thread, "<id>")];
    };
    expect(await answer(id)).toEqual(await answer(randomUUID()));
    expect((await answer(id))[0]).toBe(404);
  });

  it("is not taken, by its file or by its id", async () => {
    const id = await converse(here);
    const file = await fileOf(here, id);
    const foreign = await importTo(there, file, "bob");
    expect([foreign.status, foreign.body.error]).toMatchObject([
      403,
      { code: "forbidden", message: expect.stringContaining('metadata.owner is "ann"') },
    ]);
    const before = await look(here, id);
    const taken = await importTo(here, file.replaceAll('"owner":"ann"', '"owner":"bob"'), "bob");
    expect([taken.status, taken.body.error?.code]).toEqual([409, "thread_exists"]);
    expect(await look(here, id)).toEqual(before);
    await expect(clientOf(there, "bob").threads.get(id)).rejects.toThrow("404");
  });

  it("cannot be made by naming oneself in the file", async () => {
    const id = await converse(here);
    const [first = "", ...lines] = (await fileOf(here, id)).split("\n");
    const header = JSON.parse(first);
    header.thread.config = { configurable: { langgraph_auth_user_id: "bob", __secret: 1, tone: "kind" } };
    expect((await importTo(there, [JSON.stringify(header), ...lines].join("\n"))).status).toBe(200);
    expect((await clientOf(there).threads.get(id)).config).toEqual({ configurable: { tone: "kind" } });
  });
});

describe("a file that is none is refused with what is wrong, and changes nothing", () => {
  type Change = (lines: string[]) => string[] | string | Buffer;
  const find = (lines: string[], kind: string) => lines.findIndex((line) => line.startsWith(`{"${kind}"`));
  const edit =
    (kind: string, change: (row: Record<string, never>) => unknown): Change =>
    (lines) => {
      const at = find(lines, kind);
      const parsed = JSON.parse(lines[at] ?? "");
      change(parsed[kind]);
      return lines.with(at, JSON.stringify(parsed));
    };
  const set = (kind: string, field: string, value: unknown) =>
    edit(kind, (row) => Object.assign(row, { [field]: value }));
  const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;

  const CASES: [string, Change, string][] = [
    ["an empty one", () => "", "empty"],
    ["no JSON", () => "once upon a time", "first line is not JSON"],
    ["bytes", () => Buffer.from([0x1f, 0x8b, 8, 0, 255, 254, 10, 0]), "first line is not JSON"],
    ["another program's", () => '{"messages":[]}\n', "no exported thread"],
    [
      "a newer version's",
      (lines) => lines.with(0, (lines[0] ?? "").replace('"version":1', '"version":2')),
      "version",
    ],
    [
      "one whose thread has no id",
      (lines) => lines.with(0, (lines[0] ?? "").replace(/"thread_id":"[^"]+"/, '"thread_id":"x"')),
      "thread.thread_id",
    ],
    ["one that was cut off between two lines", (lines) => lines.slice(0, -1), "cut off"],
    ["one that was cut off in a line", (lines) => lines.join("\n").slice(0, -300), "is not JSON"],
    ["one without a line", (lines) => lines.toSpliced(find(lines, "blob"), 1), "its last line says"],
    ["one with lines after its end", (lines) => [...lines, lines[1] ?? ""], "after its end"],
    ["one with a line of another kind", (lines) => lines.toSpliced(3, 0, '{"secret":1}'), "Line 4"],
    ["a checkpoint without versions", set("checkpoint", "checkpoint", 5), "checkpoint.checkpoint"],
    ["a checkpoint with a NUL", set("checkpoint", "checkpoint_ns", "a\0b"), "checkpoint.checkpoint_ns"],
    ["a checkpoint whose id is none", set("checkpoint", "checkpoint_id", "1"), "checkpoint.checkpoint_id"],
    ["a value that is not JSON", set("blob", "text", "{"), "is not JSON"],
    ["a value that is missing", set("blob", "text", undefined), "no value"],
    ["a value of a type that is none", set("blob", "type", "pickle"), "blob.type"],
    ["a value that no reader bears", set("blob", "text", deep), "too deep"],
    [
      "a conversation with a key that is none",
      (lines) => lines.toSpliced(-1, 0, '{"conversation":{"values":{"keyInsight":["a"]}}}'),
      'conversation.values: Unrecognized key: "keyInsight"',
    ],
    [
      "a conversation with a wrong type",
      (lines) => lines.toSpliced(-1, 0, '{"conversation":{"values":{"keyInsights":"a"}}}'),
      "conversation.values.keyInsights",
    ],
    ["a message of no session", (lines) => lines.toSpliced(-1, 0, '{"message":{}}'), "no session"],
    [
      "a broken message",
      (lines) =>
        lines.toSpliced(
          -1,
          0,
          '{"session":{"session_id":"s","service_thread_id":null}}',
          '{"message":{"type":"human"}}',
        ),
      "is broken: data",
    ],
  ];

  it.each(CASES)("%s", async (_, change, said) => {
    const id = await converse(here);
    const changed = change((await fileOf(here, id)).trimEnd().split("\n"));
    const { status, body } = await importTo(there, Array.isArray(changed) ? changed.join("\n") : changed);
    expect([status, body.error]).toMatchObject([
      422,
      { code: "import_invalid", message: expect.stringContaining(said) },
    ]);
    await expect(clientOf(there).threads.get(id)).rejects.toThrow("404");
    expect((await fetch(`${there.url}/sessions/s`, { headers: { "x-api-key": KEYS.ann } })).status).toBe(404);
  });

  it("one that is too large, whether it says so or not", async () => {
    const large = "x".repeat(1024 * 1024 + 1);
    const stream = new Blob([large]).stream();
    for (const file of [large, stream]) {
      const { status, body } = await importTo(there, file);
      expect([status, body.error]).toMatchObject([
        413,
        { code: "payload_too_large", message: expect.stringContaining("MAX_IMPORT_MB") },
      ]);
    }
  });

  it("none at all", async () => {
    const response = await fetch(`${there.url}/threads/import`, {
      method: "POST",
      headers: { "x-api-key": KEYS.ann },
    });
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining("empty")]);
  });

  it("whatever one value of it is changed to: refused, or a thread that can be read", async () => {
    const id = await converse(here);
    const lines = (await fileOf(here, id)).trimEnd().split("\n");
    const kinds = ["checkpoint", "blob", "write", "end"];
    const outcomes = new Set<number>();
    for (const kind of kinds) {
      const row = JSON.parse(lines[find(lines, kind)] ?? "{}")[kind];
      for (const field of Object.keys(row)) {
        for (const value of [undefined, null, -1, "", "\ud800", [], { lc: 1 }, "{}"]) {
          const file = (set(kind, field, value)(lines) as string[]).join("\n");
          const { status } = await importTo(there, file);
          outcomes.add(status);
          expect(status, `${kind}.${field} ${JSON.stringify(value)}`).toBeLessThan(500);
          if (status !== 200) continue;
          for (const route of ["", "/state", "/history"]) {
            const read = await fetch(`${there.url}/threads/${id}${route}`, {
              headers: { "x-api-key": KEYS.ann },
            });
            expect(read.status, `${route} ${kind}.${field} ${JSON.stringify(value)}`).toBeLessThan(500);
          }
          await clientOf(there).threads.delete(id);
        }
      }
    }
    expect([...outcomes].sort()).toEqual([200, 422]);
  }, 120_000);
});
