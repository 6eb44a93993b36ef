// The envelopes over HTTP: of a run and of a thread, during it, after it, elsewhere, again, and when something is wrong.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Envelope } from "../../src/envelope/schema.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import {
  download,
  eventsUrl,
  isEnd,
  openEvents,
  startRun,
  toEnvelopes,
  toLines,
} from "../helpers/envelopes.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { postCommand } from "../helpers/protocol.ts";
import { human } from "../helpers/sdk.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/envelope/langgraph.json");

let heddle: TestApp;
/** Another instance, which runs nothing. */
let other: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs });
  other = await startApp({ graphs, beside: heddle, env: { WORKERS: "0" } });
});
afterAll(async () => {
  await other.close();
  await heddle.close();
});

type Run = Awaited<ReturnType<typeof startRun>>;
const urlOf = ({ threadId, runId }: Run, query = "", { url } = heddle) =>
  eventsUrl(url, threadId, runId, query);
const words = (...list: string[]) => ({ words: list });

/** A run that waits at a gate, in a child. */
async function startWaiting(options = {}) {
  const gate = crypto.randomUUID();
  const run = await startRun(heddle, "waits", { ...words("in"), gate }, options);
  await gateReached(gate);
  return { ...run, gate };
}

async function play(graph: string, input: unknown, options = {}): Promise<Run> {
  const run = await startRun(heddle, graph, input, options);
  await heddle.client.runs.join(run.threadId, run.runId);
  return run;
}

/** Without what depends on when it is read. */
const timeless = (envelopes: readonly Envelope[]) => envelopes.map(({ origin, ...rest }) => rest);

describe("a run's events", () => {
  it("are replayed up to the reader's arrival, then live, on any instance, with the same ids and times", async () => {
    const run = await startWaiting();
    const isUpdate = ({ type }: Envelope) => type === "tool_update";
    const earlier = await openEvents(urlOf(run));
    await earlier.until(isUpdate);
    earlier.close();
    const streams = [await openEvents(urlOf(run)), await openEvents(urlOf(run, "", other))];
    for (const stream of streams) await stream.until(isUpdate);
    openGate(run.gate);
    const [here = [], there] = await Promise.all(streams.map((stream) => stream.ended()));
    expect(timeless(here)).toEqual(timeless(there ?? []));
    const update = here.findIndex(isUpdate);
    expect(here.slice(0, update + 1).every(({ origin }) => origin === "replay")).toBe(true);
    expect(here.at(-1)).toMatchObject({ type: "tool_end", origin: "live", parent_id: null });
    const again = toEnvelopes(await download(urlOf(run)));
    expect(timeless(again)).toEqual(timeless(here));
    expect(again.every(({ origin }) => origin === "replay")).toBe(true);
  });

  it("go on exactly behind any id, in each profile", async () => {
    const run = await play("nested", human("hello"));
    for (const query of ["", "profile=debug"]) {
      const whole = await openEvents(urlOf(run, query));
      await whole.ended();
      const { received } = whole;
      expect(new Set(received.map(({ id }) => id)).size).toBe(received.length);
      for (const place of [0, 1, 5, received.length - 2, received.length - 1]) {
        const rest = await openEvents(urlOf(run, query, other), {
          "last-event-id": received[place]?.id ?? "",
        });
        await rest.ended();
        expect(rest.received).toEqual(received.slice(place + 1));
      }
    }
    const odd = await openEvents(urlOf(run), { "last-event-id": "of another stream" });
    expect((await odd.ended())[0]?.seq).toBe(1);
  });

  it("tell each start its end, and each call its parent", async () => {
    const run = await play("nested", human("hello"));
    const envelopes = toEnvelopes(await download(urlOf(run)));
    const of = (kind: string) =>
      envelopes.filter(({ type }) => type.endsWith(kind)).map(({ call_id }) => call_id);
    expect(of("_start").sort()).toEqual(of("_end").sort());
    const started = new Set<string>();
    for (const { type, call_id, parent_id, trace_id, run_id } of envelopes) {
      if (type.endsWith("_start")) {
        expect(parent_id === null || started.has(parent_id)).toBe(true);
        started.add(call_id);
      }
      expect([trace_id, run_id]).toEqual([envelopes[0]?.call_id, run.runId]);
    }
  });

  it("count what a graph has added: messages, files, tokens", async () => {
    const run = await play("nested", human("hello"));
    const ends = toEnvelopes(await download(urlOf(run))).filter(({ type }) => type === "tool_end");
    const filed = ends.find(({ agent, payload }) => agent === "file" && "shape" in payload)?.payload;
    expect(filed).toMatchObject({
      result: { messages: [{ content: "It is filed." }], files: { added: ["b.md"], changed: ["a.md"] } },
      shape: { properties: { messages: { type: "array" }, files: { type: "object" } } },
    });
    const root = ends.at(-1)?.payload.result as { messages: { type: string }[] };
    expect(root.messages.map(({ type }) => type)).toEqual(["ai", "tool", "ai", "tool", "ai"]);
  });

  it("come as JSON lines by query or by header", async () => {
    const run = await play("recovers", human("hello"));
    const byHeader = await download(urlOf(run));
    const byQuery = await fetch(urlOf(run, "format=jsonl"));
    expect(await byQuery.text()).toBe(byHeader);
  });

  it("begin with a warning that names the modes that the run does not log", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const { run_id } = await heddle.client.runs.create(thread_id, "parallel", {
      input: human("hello"),
      streamMode: "values",
    });
    await heddle.client.runs.join(thread_id, run_id);
    const lines = toEnvelopes(await download(eventsUrl(heddle.url, thread_id, run_id)));
    expect(lines.filter(({ type }) => type === "warning")).toEqual([lines[1]]);
    expect(lines[1]?.payload).toMatchObject({
      name: "ModesMissing",
      missing: [
        'stream_mode "messages-tuple"',
        'stream_mode "tools"',
        'stream_mode "tasks"',
        "stream_subgraphs true",
      ],
    });
    expect(toLines(lines).at(-1)).toBe("parallel 7 tool_end parallel success");
  });

  it("come from streamEvents where that is what the run logs", async () => {
    const run = await play("nested", human("hello"), { streamMode: ["events", "values"] });
    const lines = toLines(toEnvelopes(await download(urlOf(run))));
    expect(lines).toContain("researcher 1 tool_start researcher");
    expect(lines.filter((line) => line.includes("warning"))).toEqual([]);
    expect(lines.filter((line) => line.includes("llm_end"))).toHaveLength(6);
  });

  it("of a row that was changed in the database are a warning, and what comes after it comes", async () => {
    const run = await play("parallel", human("hello"));
    const before = toLines(toEnvelopes(await download(urlOf(run))));
    const { db } = heddle.database;
    const broken = await db.query<{ seq: number }>(
      `update heddle.run_events set data = '{"event":"on_tool_end","broken'
       where run_id = $1::uuid and data like '%on_tool_end%call_a%' returning seq`,
      [run.runId],
    );
    await db.query(
      `update heddle.run_events set data = 'broken' where run_id = $1::uuid and is_pointer
       and seq = (select max(seq) from heddle.run_events where run_id = $1::uuid and is_pointer)`,
      [run.runId],
    );
    const after = toEnvelopes(await download(urlOf(run)));
    const warnings = after.filter(({ type }) => type === "warning").map(({ payload }) => payload);
    expect(warnings[0]).toMatchObject({ name: "CorruptEvent", event: broken[0]?.seq });
    expect(warnings.map(({ name }) => name)).toEqual(["CorruptEvent", "MissingEnd", "StateLost"]);
    expect(toLines(after).at(-1)?.split(" ").slice(2)).toEqual(before.at(-1)?.split(" ").slice(2));
  });

  it("wait for a reader that is slow, and the run does not", async () => {
    const run = await startRun(heddle, "floods", words("in"));
    const response = await fetch(urlOf(run, "profile=debug"));
    await heddle.client.runs.join(run.threadId, run.runId);
    const updates = (await response.text()).match(/^event: tool_update$/gm);
    expect(updates).toHaveLength(256);
    const joined = toEnvelopes(await download(urlOf(run)));
    expect(joined.filter(({ type }) => type === "tool_update")).toHaveLength(1);
  });

  it("lack nothing of a run that was started over the newer protocol", async () => {
    const threadId = crypto.randomUUID();
    const params = { assistant_id: "recovers", input: human("hello") };
    const { result } = await postCommand(heddle.url, threadId, "run.start", params);
    await heddle.client.runs.join(threadId, result.run_id);
    const envelopes = toEnvelopes(await download(eventsUrl(heddle.url, threadId, result.run_id)));
    const run = await play("recovers", human("hello"));
    expect(toLines(envelopes)).toEqual(toLines(toEnvelopes(await download(urlOf(run)))));
  });

  it("that are deleted are told to be", async () => {
    const run = await play("recovers", human("hello"));
    await heddle.database.db.query("update heddle.runs set events = 'expired' where run_id = $1::uuid", [
      run.runId,
    ]);
    const [told, ...more] = toEnvelopes(await download(urlOf(run)));
    expect(more).toEqual([]);
    expect(told).toMatchObject({ type: "error", parent_id: null, payload: { name: "EventsExpired" } });
  });

  it("are refused with what would be right", async () => {
    const run = await play("recovers", human("hello"));
    const unknown = await fetch(urlOf(run, "profile=all"));
    expect(unknown.status).toBe(422);
    expect(((await unknown.json()) as { error: { message: string } }).error.message).toMatch(
      /profile.*"user"\|"debug"/,
    );
    const missing = [
      urlOf({ ...run, runId: crypto.randomUUID() }),
      eventsUrl(heddle.url, crypto.randomUUID()),
      urlOf({ ...run, threadId: crypto.randomUUID() }),
    ];
    const statuses = await Promise.all(missing.map(async (url) => (await fetch(url)).status));
    expect(statuses).toEqual([404, 404, 404]);
  });
});

describe("what has no end of its own", () => {
  it("is counted where the run runs, whether somebody reads its events or not", async () => {
    const { threadId, runId } = await startWaiting();
    await heddle.client.runs.cancel(threadId, runId, true);
    const figures = await (await fetch(`${heddle.url}/metrics`)).text();
    expect(figures).toMatch(/heddle_calls_unended_total\{kind="task",end="interrupted"\} [1-9]/);
    expect(figures).toContain("heddle_calls_open_too_long 0");
  });
});

describe("a thread's events", () => {
  it("are those of its runs, one after the other, then live; ids are the thread's", async () => {
    const { threadId, gate, runId } = await startWaiting();
    openGate(gate);
    await heddle.client.runs.join(threadId, runId);
    const stream = await openEvents(eventsUrl(other.url, threadId));
    await stream.until(isEnd);
    const second = await startWaiting({ threadId });
    const kept = toEnvelopes(await download(eventsUrl(heddle.url, threadId)));
    expect(kept.at(-1)?.type).not.toBe("tool_end");
    openGate(second.gate);
    const all = await stream.until((envelope) => isEnd(envelope) && envelope.run_id === second.runId);
    expect(all.map(({ origin }) => origin).filter((origin, at, list) => origin !== list[at - 1])).toEqual([
      "replay",
      "live",
    ]);
    const runs = [runId, second.runId].map(async (run_id) =>
      toEnvelopes(await download(eventsUrl(heddle.url, threadId, run_id))),
    );
    expect(timeless(all)).toEqual(timeless((await Promise.all(runs)).flat()));
    const place = all.findIndex(({ run_id }) => run_id === second.runId);
    const rest = await openEvents(eventsUrl(heddle.url, threadId), {
      "last-event-id": stream.received[place - 1]?.id ?? "",
    });
    const again = await rest.until(isEnd);
    expect(timeless(again)).toEqual(timeless(all.slice(place)));
    for (const { close } of [rest, stream]) close();
  });
});
