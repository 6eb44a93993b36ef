// The newer thread protocol over HTTP: commands, and the frames that follow from a run's events.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import {
  endOf,
  type FrameStream,
  isEnd,
  openStream,
  postCommand,
  toLines,
  type WireFrame,
} from "../helpers/protocol.ts";
import { human } from "../helpers/sdk.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/protocol/langgraph.json");

let heddle: TestApp;
/** Another instance, which runs nothing. */
let other: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs });
  other = await startApp({ beside: heddle, graphs, env: { WORKERS: "0" } });
});
afterAll(async () => {
  await other.close();
  await heddle.close();
});

const words = (...list: string[]) => ({ words: list });

async function start(
  assistant_id: string,
  input: unknown,
  threadId: string = crypto.randomUUID(),
  more = {},
) {
  const answer = await postCommand(heddle.url, threadId, "run.start", { assistant_id, input, ...more });
  return { threadId, runId: answer.result?.run_id as string, answer };
}

async function readAll(threadId: string, runs = 1, url = heddle.url, body = {}): Promise<FrameStream> {
  const stream = await openStream(url, threadId, body);
  await stream.until(endOf(runs));
  stream.close();
  return stream;
}

/** Runs a graph to its end. */
async function play(graph: string, input: unknown) {
  const { threadId, runId } = await start(graph, input);
  const { frames } = await readAll(threadId);
  return { threadId, runId, frames };
}

const of = (frames: readonly WireFrame[], method: string) =>
  frames.filter((frame) => frame.method === method);

describe("the frames of a run", () => {
  it("begin with running, end with one terminal, and tell the run in their ids", async () => {
    const { runId, frames } = await play("writes", words("in"));
    const roots = of(frames, "lifecycle").filter(({ params }) => params.namespace.length === 0);
    expect(roots.map(({ params }) => params.data)).toEqual([
      { event: "running", graph_name: "writes" },
      { event: "completed", graph_name: "writes" },
    ]);
    expect(roots.map(({ event_id, seq }) => event_id === `synth:${runId}:${seq}`)).toEqual([true, true]);
    expect([frames[0], frames.at(-1)]).toEqual(roots);
    expect(frames.every(({ seq }, place) => place === 0 || seq > (frames[place - 1]?.seq ?? 0))).toBe(true);
    expect(new Set(frames.map(({ event_id }) => event_id)).size).toBe(frames.length);
  });

  it("of a message are its blocks, and the graph sees the message as over the older protocol", async () => {
    const { frames } = await play("plain", human("hello"));
    const [started, ...rest] = of(frames, "messages")
      .filter(({ params }) => params.node === "speak")
      .map(({ params }) => params.data);
    expect(started).toMatchObject({ event: "message-start", role: "ai", metadata: { model_type: "chat" } });
    expect(rest.map(({ run_id, ...data }) => data)).toEqual([
      { event: "content-block-start", index: 0, content: { type: "text", text: "" } },
      ...["you ", "said ", "hello"].map((text) => ({
        event: "content-block-delta",
        index: 0,
        delta: { type: "text-delta", text },
      })),
      { event: "content-block-finish", index: 0, content: { type: "text", text: "you said hello" } },
      { event: "message-finish", reason: "stop", responseMetadata: { finish_reason: "stop" } },
    ]);
    expect(of(frames, "values").at(-1)?.params.data.messages.at(-1).content).toBe("seen as string");
  });

  it("of two models in one node can be told apart", async () => {
    const { frames } = await play("parallel", human("go"));
    const data = of(frames, "messages").map(({ params }) => params.data);
    const ids = [...new Set(data.map(({ run_id }) => run_id))];
    expect(ids).toHaveLength(2);
    const texts = ids.map((id) =>
      data
        .filter(({ run_id, delta }) => run_id === id && delta)
        .map(({ delta }) => delta.text)
        .join(""),
    );
    expect(texts.sort()).toEqual(["one two three", "uno dos tres"]);
    expect(data.filter(({ event }) => event === "message-finish")).toHaveLength(2);
  });

  it("show a tool call as it is written and as it is meant", async () => {
    const { frames } = await play("agent", human("weather?"));
    const blocks = of(frames, "messages")
      .map(({ params }) => params.data)
      .filter(({ index }) => index === 1);
    expect(blocks.map(({ run_id, ...data }) => data)).toEqual([
      {
        event: "content-block-start",
        index: 1,
        content: { type: "tool_call_chunk", id: "call_1", name: "weather", args: "" },
      },
      {
        event: "content-block-delta",
        index: 1,
        delta: {
          type: "block-delta",
          fields: { type: "tool_call_chunk", id: "call_1", name: "weather", args: '{"city":"Bonn"}' },
        },
      },
      {
        event: "content-block-finish",
        index: 1,
        content: { type: "tool_call", id: "call_1", name: "weather", args: { city: "Bonn" } },
      },
    ]);
    // What a tool has answered is no message that somebody writes.
    const nodes = of(frames, "messages").map(({ params }) => params.node);
    expect([...new Set(nodes)]).toEqual(["model"]);
  });

  it("of subgraphs have their namespaces, which start and complete", async () => {
    const { threadId, frames } = await play("nested", words("in"));
    const lifecycles = toLines(of(frames, "lifecycle"));
    expect(lifecycles).toEqual([
      ". lifecycle running",
      "middle lifecycle started",
      "middle/inner lifecycle started",
      "middle/inner lifecycle completed",
      "middle lifecycle completed",
      ". lifecycle completed",
    ]);
    const { result } = await postCommand(heddle.url, threadId, "agent.getTree");
    expect(result.tree).toMatchObject({
      namespace: [],
      status: "completed",
      graph_name: "nested",
      children: [{ graph_name: "middle", children: [{ graph_name: "inner", status: "completed" }] }],
    });
  });

  it("of updates name their node, and of custom events their name", async () => {
    const { frames } = await play("writes", words("in"));
    expect(of(frames, "updates").map(({ params }) => [params.node, params.data])).toEqual([
      ["write", { words: ["written"] }],
    ]);
    expect(of(frames, "custom").map(({ params }) => params.data)).toEqual([
      { payload: { progress: 1 } },
      { name: "steps", payload: { done: 1 } },
      { payload: "plain text" },
    ]);
  });

  it("of a failure end with its message, once", async () => {
    const { frames } = await play("fails", words("in"));
    expect(frames.at(-1)?.params.data).toEqual({ event: "failed", graph_name: "fails", error: "no further" });
  });
});

describe("an event stream", () => {
  it("may be open before there is a thread, and stays open over runs", async () => {
    const threadId = crypto.randomUUID();
    const stream = await openStream(heddle.url, threadId);
    expect(stream.response.status).toBe(200);
    await start("writes", words("one"), threadId);
    await stream.until(endOf(1));
    await start("writes", words("two"), threadId);
    const frames = await stream.until(endOf(2));
    expect(frames.map(({ seq }) => seq)).toEqual(frames.map(({ seq }) => seq).toSorted((a, b) => a - b));
    stream.close();
  });

  it("is the same bytes live, again, and from another instance; since leaves out what the reader has", async () => {
    const threadId = crypto.randomUUID();
    const live = await openStream(heddle.url, threadId);
    const elsewhere = await openStream(other.url, threadId);
    await start("agent", human("weather?"), threadId);
    await live.until(endOf(1));
    await start("agent", human("again?"), threadId);
    await live.until(endOf(2));
    await elsewhere.until(endOf(2));
    const again = await readAll(threadId, 2);
    expect(again.text()).toBe(live.text());
    expect(elsewhere.text()).toBe(live.text());
    for (const place of [0, 5, Math.floor(live.frames.length / 2), live.frames.length - 3]) {
      const since = live.frames[place]?.seq ?? 0;
      const expected = live.frames.slice(place + 1);
      const rest = await readAll(threadId, expected.filter(isEnd).length, other.url, { since });
      expect(rest.frames).toEqual(expected);
    }
    live.close();
    elsewhere.close();
  });

  it("sends what its filter asks for", async () => {
    const { threadId, frames } = await play("nested", words("in"));
    const read = async (body: object, count: number) => {
      const stream = await openStream(heddle.url, threadId, body as Record<string, unknown>);
      await stream.until((_, so) => so.length === count);
      stream.close();
      return stream.frames;
    };
    for (const body of [
      { channels: ["values"] },
      { channels: ["lifecycle", "input"] },
      { channels: ["values"], namespaces: [["middle"]] },
      { channels: ["values", "lifecycle"], namespaces: [["middle", "inner"]] },
      { channels: ["values", "updates"], namespaces: [[]], depth: 0 },
      { channels: ["values", "updates"], namespaces: [["middle"]], depth: 0 },
    ]) {
      const {
        channels,
        namespaces = [[]],
        depth = 9,
      } = body as {
        channels: string[];
        namespaces?: string[][];
        depth?: number;
      };
      const expected = frames.filter(
        ({ method, params: { namespace } }) =>
          channels.includes(method) &&
          namespaces.some(
            (prefix) =>
              prefix.every((segment, level) => namespace[level]?.startsWith(`${segment}:`)) &&
              namespace.length - prefix.length <= depth,
          ),
      );
      expect(expected.length).toBeGreaterThan(0);
      expect(await read(body, expected.length)).toEqual(expected);
    }
  });

  it("shows tasks as they were, though the log does not repeat the state that they begin with", async () => {
    const threadId = crypto.randomUUID();
    const live = await openStream(heddle.url, threadId, { channels: ["tasks", "lifecycle"] });
    const gate = crypto.randomUUID();
    openGate(gate);
    await start("waits", { ...words("x".repeat(20_000)), gate }, threadId);
    await live.until(endOf(1));
    live.close();
    const inputs = of(live.frames, "tasks").filter(({ params }) => "input" in params.data);
    expect(inputs.map(({ params }) => params.data.input.words[0].length)).toEqual([20_000, 20_000, 20_000]);
    const again = await readAll(threadId, 1, other.url, { channels: ["tasks", "lifecycle"] });
    expect(again.text()).toBe(live.text());
    const [{ size } = { size: 0 }] = await heddle.database.db.query<{ size: number }>(
      `select sum(octet_length(e.data))::integer as size
       from heddle.run_events e join heddle.runs r on r.run_id = e.run_id
       where r.thread_id = $1::uuid`,
      [threadId],
    );
    expect(size).toBeLessThan(10_000);
  });

  it("tells named custom events from others", async () => {
    const { threadId } = await play("writes", words("in"));
    const stream = await openStream(heddle.url, threadId, { channels: ["custom:steps", "lifecycle"] });
    await stream.until(endOf(1));
    stream.close();
    expect(of(stream.frames, "custom").map(({ params }) => params.data.name)).toEqual(["steps"]);
  });

  it("is refused when its body is not understood", async () => {
    const threadId = crypto.randomUUID();
    for (const [body, field] of [
      [{ channels: "values" }, "channels"],
      [{ surprise: 1 }, "surprise"],
      [{ since: -1 }, "since"],
      [{ depth: 1.5 }, "depth"],
      [{ namespaces: ["a"] }, "namespaces"],
    ] as const) {
      const stream = await openStream(heddle.url, threadId, body);
      expect(stream.response.status).toBe(422);
      await expect.poll(stream.text).toContain(field);
    }
    expect((await openStream(heddle.url, "no-uuid")).response.status).toBe(422);
  });

  it("says that a run's events are deleted", async () => {
    const { threadId, runId } = await play("writes", words("in"));
    await heddle.database.db.query("update heddle.runs set events = 'expired' where run_id = $1::uuid", [
      runId,
    ]);
    const { frames } = await readAll(threadId);
    expect(frames.map(({ params }) => params.data)).toEqual([
      { event: "running", graph_name: "writes" },
      { event: "completed", graph_name: "writes", events_expired: true },
    ]);
  });
});

describe("a command", () => {
  it.each([
    [{}, "params: either interrupt_id and response, or responses"],
    [{ interrupt_id: 5, response: 1 }, "params.interrupt_id: "],
    [{ interrupt_id: "x", response: 1, config: 5 }, "params.config: "],
    [{ interrupt_id: "x", response: 1, goto: 5 }, "params.goto: "],
    [{ interrupt_id: "x", response: 1, goto: "constructor" }, "params.goto: "],
    [{ interrupt_id: "x", response: 1, update: 5 }, "params.update: "],
    [
      { responses: [{ interrupt_id: "x", response: 1 }, { response: 1 }] },
      "params.responses.1.interrupt_id: ",
    ],
    [{ responses: [] }, "params.responses: "],
  ])("input.respond names what is wrong in %j", async (params, message) => {
    const threadId = crypto.randomUUID();
    expect(await postCommand(heddle.url, threadId, "input.respond", params)).toMatchObject({
      error: "invalid_argument",
      message: expect.stringContaining(`input.respond: ${message}`),
    });
  });

  it("is answered in an envelope, also when it fails", async () => {
    const { threadId, answer } = await start("writes", words("in"));
    expect(answer).toMatchObject({ type: "success", id: 7, meta: { thread_id: threadId } });
    expect(answer.meta.applied_through_seq).toBeTypeOf("number");
    for (const [method, params, error] of [
      ["run.start", {}, "invalid_argument"],
      ["run.start", { assistant_id: "nobody", input: null }, "invalid_argument"],
      ["run.start", { assistant_id: "writes", input: { lg_name: "Command" } }, "invalid_argument"],
      ["run.start", { assistant_id: "writes", multitaskStrategy: "guess" }, "invalid_argument"],
      ["run.start", { assistant_id: "nested", input: null }, "invalid_argument"],
      [
        "run.start",
        { assistant_id: "writes", config: { configurable: { checkpoint_id: "x" } } },
        "no_such_checkpoint",
      ],
      ["input.respond", {}, "invalid_argument"],
      ["input.respond", { interrupt_id: "x", response: 1 }, "invalid_argument"],
      ["state.get", { keys: 5 }, "invalid_argument"],
      ["state.fork", { checkpoint_id: crypto.randomUUID() }, "no_such_checkpoint"],
      ["agent.getTree", { run_id: crypto.randomUUID() }, "no_such_run"],
      ["input.inject", { message: { role: "user", content: "x" } }, "not_supported"],
      ["subscription.subscribe", { channels: ["values"] }, "not_supported"],
      ["subscription.unsubscribe", { subscription_id: "x" }, "no_such_subscription"],
      ["subscription.reconnect", {}, "not_supported"],
      ["make.coffee", {}, "unknown_command"],
    ] as const) {
      const failure = await postCommand(heddle.url, threadId, method, params);
      expect([method, params, failure.error]).toEqual([method, params, error]);
      expect(failure).toEqual({ type: "error", id: 7, error, message: expect.any(String) });
    }
  });

  it("on a thread that is not there finds no run", async () => {
    for (const [method, params] of [
      ["input.respond", { interrupt_id: "x", response: 1 }],
      ["state.get", {}],
      ["state.listCheckpoints", {}],
      ["state.fork", { checkpoint_id: crypto.randomUUID() }],
      ["agent.getTree", {}],
    ] as const) {
      const answer = await postCommand(heddle.url, crypto.randomUUID(), method, params);
      expect([method, answer.error]).toEqual([method, "no_such_run"]);
    }
  });

  it("that is no envelope is 422", async () => {
    const threadId = crypto.randomUUID();
    for (const body of ["{}", '{"id":-1,"method":"x"}', '{"id":1}', '{"id":1,"method":"x","params":[]}']) {
      const response = await fetch(`${heddle.url}/threads/${threadId}/commands`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      expect(response.status).toBe(422);
    }
  });

  it("reads the state and its checkpoints, and forks from one of them", async () => {
    const { threadId } = await play("nested", words("in"));
    const state = (await postCommand(heddle.url, threadId, "state.get")).result;
    expect(state.values.words.at(-1)).toBe("after");
    expect((await postCommand(heddle.url, threadId, "state.get", { keys: ["none"] })).result.values).toEqual(
      {},
    );
    const { checkpoints } = (await postCommand(heddle.url, threadId, "state.listCheckpoints", { limit: 2 }))
      .result;
    expect(checkpoints.map(({ step }: { step: number }) => step)).toEqual([2, 1]);
    expect(checkpoints[0].id).toBe(state.checkpoint.id);
    const before = { limit: 5, before: checkpoints[1].id };
    const older = (await postCommand(heddle.url, threadId, "state.listCheckpoints", before)).result
      .checkpoints;
    expect(older.map(({ step }: { step: number }) => step)).toEqual([0, -1]);

    const fork = await postCommand(heddle.url, threadId, "state.fork", { checkpoint_id: checkpoints[1].id });
    expect(fork.result).toEqual({ thread_id: threadId, run_id: expect.any(String) });
    const { frames } = await readAll(threadId, 2);
    const second = frames.slice(frames.findIndex(isEnd) + 1);
    expect(of(second, "updates").map(({ params }) => params.node)).toEqual(["after"]);
  });

  it("starts a run from an earlier checkpoint", async () => {
    const { threadId } = await play("nested", words("in"));
    const history = await heddle.client.threads.getHistory(threadId);
    const checkpoint_id = history.find(({ next }) => next[0] === "after")?.checkpoint.checkpoint_id;
    await start("nested", null, threadId, { config: { configurable: { checkpoint_id } } });
    const { frames } = await readAll(threadId, 2);
    expect(of(frames, "updates").filter(({ params }) => params.node === "after")).toHaveLength(2);
  });
});

describe("an interrupt", () => {
  const ask = async () => {
    const { threadId, runId, frames } = await play("asks", words("in"));
    const [request] = of(frames, "input.requested");
    return { threadId, runId, frames, request };
  };

  it("is asked once, in the namespace of its subgraph, and ends the run as interrupted", async () => {
    const { frames, request } = await ask();
    expect(of(frames, "input.requested")).toHaveLength(1);
    expect(toLines(frames.slice(-3))).toContain("asking lifecycle interrupted");
    expect(request?.params.namespace[0]).toMatch(/^asking:/);
    expect(request?.params.data).toEqual({
      interrupt_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      payload: { question: "which?" },
    });
    expect(frames.at(-1)?.params.data.event).toBe("interrupted");
    expect(JSON.stringify(of(frames, "values"))).not.toContain("__interrupt__");
  });

  it("is answered by its id, from any instance, once", async () => {
    const { threadId, request } = await ask();
    const answer = { interrupt_id: request?.params.data.interrupt_id, response: "this" };
    const wrong = { interrupt_id: "0".repeat(32), response: "this" };
    const respond = (params: object) => postCommand(other.url, threadId, "input.respond", params);
    expect((await respond(wrong)).error).toBe("no_such_interrupt");
    const answers = await Promise.all([respond(answer), respond({ responses: [answer] })]);
    expect(answers.map(({ type }) => type).sort()).toEqual(["error", "success"]);
    const { frames } = await readAll(threadId, 2);
    const second = frames.slice(frames.findIndex(isEnd) + 1);
    expect(of(second, "input.answered").map(({ params }) => params.data)).toEqual([
      { interrupt_ids: [answer.interrupt_id] },
    ]);
    expect(of(second, "values").at(-1)?.params.data.words).toContain("answered this");
    expect(second.at(-1)?.params.data.event).toBe("completed");
    expect((await respond(answer)).error).toBe("invalid_argument");
  });

  it("takes an update and a jump with the answer", async () => {
    const { threadId, request } = await ask();
    const { interrupt_id } = request?.params.data ?? {};
    await postCommand(heddle.url, threadId, "input.respond", {
      interrupt_id,
      namespace: request?.params.namespace,
      response: "this",
      update: words("updated"),
    });
    const { frames } = await readAll(threadId, 2);
    expect(of(frames, "values").at(-1)?.params.data.words).toContain("updated");
  });

  it("is answered by the input of the next run.start", async () => {
    const { threadId, request } = await ask();
    await start("asks", "that", threadId);
    const { frames } = await readAll(threadId, 2);
    expect(of(frames, "input.answered").map(({ params }) => params.data)).toEqual([
      { interrupt_ids: [request?.params.data.interrupt_id] },
    ]);
    expect(of(frames, "values").at(-1)?.params.data.words).toContain("answered that");
  });

  it("is not what a cancelled run leaves: input for it is input", async () => {
    const gate = crypto.randomUUID();
    const { threadId, runId } = await start("waits", { ...words("in"), gate });
    await gateReached(gate);
    await heddle.client.runs.cancel(threadId, runId, true);
    const { frames } = await readAll(threadId);
    expect(frames.at(-1)?.params.data.event).toBe("interrupted");
    const next = crypto.randomUUID();
    openGate(next);
    await start("waits", { ...words("again"), gate: next }, threadId);
    const all = await readAll(threadId, 2);
    expect(of(all.frames, "values").at(-1)?.params.data.words).toContain("again");
  });
});

describe("two runs at once", () => {
  const occupy = async () => {
    const gate = crypto.randomUUID();
    const { threadId, runId } = await start("waits", { ...words("first"), gate });
    await gateReached(gate);
    return { threadId, runId, gate };
  };
  const second = (threadId: string, more: object) => {
    const gate = crypto.randomUUID();
    openGate(gate);
    return start("waits", { ...words("second"), gate }, threadId, more);
  };

  it("come one after the other", async () => {
    const { threadId, gate } = await occupy();
    await second(threadId, {});
    openGate(gate);
    const { frames } = await readAll(threadId, 2);
    expect(frames.filter(isEnd).map(({ params }) => params.data.event)).toEqual(["completed", "completed"]);
  });

  it.each([{ multitaskStrategy: "interrupt" }, { multitask_strategy: "interrupt" }])(
    "with %j end the first",
    async (strategy) => {
      const { threadId } = await occupy();
      await second(threadId, strategy);
      const { frames } = await readAll(threadId, 2);
      expect(frames.filter(isEnd).map(({ params }) => params.data.event)).toEqual([
        "interrupted",
        "completed",
      ]);
    },
  );

  it("with rollback undo the first, also in what is replayed", async () => {
    const { threadId, runId } = await occupy();
    const live = await openStream(heddle.url, threadId);
    await live.until(({ method }) => method === "custom");
    await second(threadId, { multitaskStrategy: "rollback" });
    const seen = await live.until(endOf(2));
    live.close();
    expect(seen.filter(isEnd).map(({ params }) => params.data.event)).toEqual(["interrupted", "completed"]);
    const { frames } = await readAll(threadId);
    expect(JSON.stringify(frames)).not.toContain(runId);
    expect(of(frames, "values").at(-1)?.params.data.words).not.toContain("first");
  });

  it("with reject refuse the second", async () => {
    const { threadId, gate } = await occupy();
    const { answer } = await second(threadId, { multitaskStrategy: "reject" });
    expect(answer.error).toBe("invalid_argument");
    openGate(gate);
    await readAll(threadId);
  });

  it("tell the end of one that was cancelled before it began", async () => {
    const { threadId, gate } = await occupy();
    const { runId } = await second(threadId, {});
    await heddle.client.runs.cancel(threadId, runId);
    openGate(gate);
    const { frames } = await readAll(threadId, 2);
    const end = frames.filter(isEnd).at(-1);
    expect(end?.params.data.event).toBe("interrupted");
    expect(end?.event_id).toContain(runId);
  });
});
