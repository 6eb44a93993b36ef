// The thread protocol: commands and frames.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { endOf, isEnd, openSocket, openStream, postCommand, type WireFrame } from "../../helpers/protocol.ts";
import type { Section, Served } from "./row.ts";

const plan = (...words: string[]) => ({ plan: words });
const say = (text: string) => ({ messages: [{ role: "user", content: text }] });

async function start(
  { url }: Served,
  assistant_id: string,
  input: unknown,
  { threadId = randomUUID(), ...more }: Record<string, unknown> & { threadId?: string } = {},
) {
  const answer = await postCommand(url, threadId, "run.start", { assistant_id, input, ...more });
  assert.equal(answer.type, "success", JSON.stringify(answer));
  return { threadId, runId: answer.result.run_id as string };
}

/** All frames up to the end of the `count`th run. */
async function read(
  { url }: Served,
  threadId: string,
  { runs = 1, ...body }: Record<string, unknown> & { runs?: number } = {},
): Promise<WireFrame[]> {
  const stream = await openStream(url, threadId, body);
  const frames = await stream.until(endOf(runs));
  stream.close();
  return frames;
}

async function play(served: Served, graph: string, input: unknown) {
  const { threadId, runId } = await start(served, graph, input);
  return { threadId, runId, frames: await read(served, threadId) };
}

const of = (frames: readonly WireFrame[], method: string) =>
  frames.filter((frame) => frame.method === method);
const dataOf = (frames: readonly WireFrame[], method: string) =>
  of(frames, method).map(({ params }) => params.data);
const nodes = ({ params }: WireFrame) => params.namespace.map((segment) => segment.split(":")[0]);
const valuesOf = async ({ client }: Served, threadId: string) =>
  (await client.threads.getState<{ done: string[] }>(threadId)).values;

/** Waits until the run has done its first step. */
async function firstStep({ client }: Served, threadId: string, runId: string) {
  for await (const { event, data } of client.runs.joinStream(threadId, runId, { lastEventId: "-1" }))
    if (event === "values" && (data as { done: string[] }).done.length === 1) return;
}

const commands: Section["rows"] = [
  {
    of: "run.start",
    heddle: "starts a run, on a new thread if need be, and answers its id",
    async check(served) {
      const thread = served.client.threads.stream(randomUUID(), { assistantId: "steps" });
      const { run_id } = await thread.run.start({ input: plan("add"), metadata: { mine: 1 } });
      assert.deepEqual(await thread.output, { plan: [], done: ["add"] });
      const run = await served.client.runs.get(thread.threadId, run_id ?? "");
      assert.deepEqual([run.status, run.metadata?.mine], ["success", 1]);
      await thread.close();
    },
  },
  {
    of: "run.start: the answer",
    heddle: "is `success` with the command's id and the thread's last `applied_through_seq`",
    async check(served) {
      const { threadId, frames } = await play(served, "steps", plan("add"));
      const again = await postCommand(served.url, threadId, "run.start", {
        assistant_id: "steps",
        input: plan("add"),
      });
      assert.equal(again.id, 7);
      assert.equal(again.meta.thread_id, threadId);
      assert.ok(again.meta.applied_through_seq >= (frames.at(-1)?.seq ?? 0));
      await read(served, threadId, { runs: 2 });
    },
  },
  {
    of: "run.start while a run is unfinished",
    heddle: "comes after it; with `multitaskStrategy` interrupt it ends it, with reject it is refused",
    dev: "every strategy is enqueue",
    why: "it is what the request asks for",
    async check(served) {
      const first = await start(served, "steps", plan("add", "wait", "wait"));
      const { threadId } = first;
      await firstStep(served, threadId, first.runId);
      const refused = await postCommand(served.url, threadId, "run.start", {
        assistant_id: "steps",
        input: plan("add"),
        multitaskStrategy: "reject",
      });
      assert.equal(refused.error, "invalid_argument");
      await start(served, "steps", plan("add"), { threadId, multitaskStrategy: "interrupt" });
      await start(served, "steps", plan("tell"), { threadId });
      const ends = (await read(served, threadId, { runs: 3 })).filter(isEnd);
      assert.deepEqual(
        ends.map(({ params }) => params.data.event),
        ["interrupted", "completed", "completed"],
      );
      assert.deepEqual((await valuesOf(served, threadId)).done.slice(-2), ["add", "tell"]);
    },
  },
  {
    of: "run.start: multitaskStrategy rollback",
    heddle: "removes the unfinished run, also from what is replayed",
    dev: "is enqueue",
    why: "it is what the request asks for",
    async check(served) {
      const first = await start(served, "steps", plan("add", "wait", "wait"));
      const { threadId } = first;
      await firstStep(served, threadId, first.runId);
      const second = await start(served, "steps", plan("tell"), { threadId, multitaskStrategy: "rollback" });
      await served.client.runs.join(threadId, second.runId);
      const frames = await read(served, threadId);
      assert.ok(!JSON.stringify(frames).includes(first.runId));
      assert.deepEqual((await valuesOf(served, threadId)).done, ["tell"]);
    },
  },
  {
    of: "run.start on a thread that waits for an answer",
    heddle: "takes the input for the answer",
    async check(served) {
      const { threadId } = await play(served, "steps", plan("ask"));
      await start(served, "steps", "this", { threadId });
      await read(served, threadId, { runs: 2 });
      assert.deepEqual((await valuesOf(served, threadId)).done, ["asked: this"]);
    },
  },
  {
    of: "run.start: config.configurable.checkpoint_id",
    heddle: "goes on from an earlier state",
    async check(served) {
      const { threadId } = await play(served, "steps", plan("add", "tell"));
      const history = await served.client.threads.getHistory<{ plan: string[] }>(threadId);
      const checkpoint_id = history.find(({ values }) => values.plan?.length === 1)?.checkpoint.checkpoint_id;
      const config = { configurable: { checkpoint_id } };
      const { runId } = await start(served, "steps", null, { threadId, config });
      const frames = await read(served, threadId, { runs: 2 });
      const second = frames.slice(frames.findIndex(isEnd) + 1);
      assert.ok(second[0]?.event_id.includes(runId));
      assert.deepEqual(
        dataOf(second, "updates").map((data) => JSON.stringify(data).includes("tell")),
        [true],
      );
    },
  },
  {
    of: "run.start with another assistant than the thread's",
    heddle: "is `invalid_argument`",
    async check(served) {
      const { threadId } = await play(served, "steps", plan("add"));
      const params = { assistant_id: "agent", input: say("hi") };
      assert.equal((await postCommand(served.url, threadId, "run.start", params)).error, "invalid_argument");
    },
  },
  {
    of: "input.respond",
    heddle: "answers an interrupt by its id, also one of a subgraph",
    async check(served) {
      const thread = served.client.threads.stream(randomUUID(), { assistantId: "nested" });
      await thread.run.start({ input: { trail: [], ask: "well?" } });
      await thread.output;
      const [interrupt] = thread.interrupts;
      assert.equal(interrupt?.payload, "well?");
      assert.deepEqual(
        interrupt.namespace.map((segment) => segment.split(":")[0]),
        ["middle", "inner"],
      );
      await thread.input.respond({
        namespace: interrupt.namespace,
        interrupt_id: interrupt.interruptId,
        response: "yes",
      });
      const frames = await read(served, thread.threadId, { runs: 2 });
      assert.deepEqual(dataOf(frames, "input.answered"), [{ interrupt_ids: [interrupt.interruptId] }]);
      const { values } = await served.client.threads.getState<{ trail: string[] }>(thread.threadId);
      assert.deepEqual(values.trail, ["outer", "middle", "inner yes"]);
      await thread.close();
    },
  },
  {
    of: "input.respond: responses, update",
    heddle: "answer several at once, and change the state on the way",
    async check(served) {
      const { threadId, frames } = await play(served, "steps", plan("ask"));
      const [{ interrupt_id }] = dataOf(frames, "input.requested");
      const params = { responses: [{ interrupt_id, response: "that" }], update: { done: ["before"] } };
      const { type, result } = await postCommand(served.url, threadId, "input.respond", params);
      assert.deepEqual([type, result], ["success", {}]);
      await read(served, threadId, { runs: 2 });
      assert.deepEqual((await valuesOf(served, threadId)).done, ["before", "asked: that"]);
    },
  },
  {
    of: "input.respond to a run that was not started on this connection",
    heddle: "is taken: the thread knows its assistant, on every server and after a restart",
    dev: "`no_such_run`: it is in the memory of a server",
    why: "an answer may come after a restart",
    async check(served) {
      const { client, url } = served;
      const { thread_id } = await client.threads.create();
      await client.runs.wait(thread_id, "steps", { input: plan("ask") });
      const [interrupt] = Object.values((await client.threads.get(thread_id)).interrupts ?? {}).flat();
      const params = { interrupt_id: interrupt?.id, response: "late" };
      const { type } = await postCommand(url, thread_id, "input.respond", params);
      assert.equal(type, "success");
      const [run] = await client.runs.list(thread_id);
      await client.runs.join(thread_id, run?.run_id ?? "");
      assert.deepEqual((await valuesOf(served, thread_id)).done, ["asked: late"]);
    },
  },
  {
    of: "input.respond: errors",
    heddle: "`no_such_run`, `invalid_argument` where nothing is asked, `no_such_interrupt` for another id",
    async check(served) {
      const respond = async (threadId: string, interrupt_id: string) =>
        (await postCommand(served.url, threadId, "input.respond", { interrupt_id, response: 1 })).error;
      assert.equal(await respond(randomUUID(), "x"), "no_such_run");
      assert.equal(
        await respond((await play(served, "steps", plan("add"))).threadId, "x"),
        "invalid_argument",
      );
      assert.equal(
        await respond((await play(served, "steps", plan("ask"))).threadId, "x"),
        "no_such_interrupt",
      );
    },
  },
  {
    of: "input.respond: strict_resume",
    heddle:
      "takes an answer that nobody waits for, and its run fails with `reason`, `interrupt_ids` and `pending_ids` in lifecycle",
    dev: "is ignored",
    why: "newer SDKs show by it what still waits",
    async check(served) {
      const { client, url } = served;
      const { threadId } = await play(served, "steps", plan("ask", "ask"));
      const waiting = async () => {
        const { interrupts } = await client.threads.get(threadId);
        return Object.values(interrupts ?? {}).flat()[0]?.id ?? "";
      };
      const respond = (interrupt_id: string) =>
        postCommand(url, threadId, "input.respond", { interrupt_id, response: 1, strict_resume: true });
      const first = await waiting();
      assert.equal((await respond(first)).type, "success");
      await read(served, threadId, { runs: 2 });
      const second = await waiting();
      assert.equal((await respond(first)).type, "success");
      const refused = (await read(served, threadId, { runs: 3 })).findLast(isEnd);
      assert.partialDeepStrictEqual(refused?.params.data, {
        event: "failed",
        reason: "unknown_interrupt",
        interrupt_ids: [first],
        pending_ids: [second],
      });
      assert.equal((await respond(second)).type, "success");
      await read(served, threadId, { runs: 4 });
      assert.deepEqual((await valuesOf(served, threadId)).done, ["asked: 1", "asked: 1"]);
      // What is no interrupt's id is refused at once, as ever.
      const { threadId: other } = await play(served, "steps", plan("ask"));
      const params = { interrupt_id: "x", response: 1, strict_resume: true };
      assert.equal((await postCommand(url, other, "input.respond", params)).error, "no_such_interrupt");
    },
  },
  {
    of: "state.get",
    heddle: "gives values, or those of `keys`, and the checkpoint's id and namespace",
    async check(served) {
      const { threadId } = await play(served, "steps", plan("add"));
      const { checkpoint } = await served.client.threads.getState(threadId);
      const { result } = await postCommand(served.url, threadId, "state.get", { keys: ["done"] });
      assert.deepEqual(result, {
        values: { done: ["add"] },
        checkpoint: { id: checkpoint.checkpoint_id, ns: "" },
      });
      const none = await postCommand(served.url, randomUUID(), "state.get");
      assert.equal(none.error, "no_such_run");
    },
  },
  {
    of: "state.listCheckpoints, state.fork",
    heddle: "list the states, newest first, and run on from one of them",
    dev: "`unknown_command`",
    why: "the SDK has them",
    async check(served) {
      const { threadId } = await play(served, "steps", plan("add", "tell"));
      const thread = served.client.threads.stream(threadId, { assistantId: "steps" });
      const { checkpoints } = await thread.state.listCheckpoints({ namespace: [], limit: 2 });
      assert.deepEqual(
        checkpoints.map(({ step }) => step),
        [2, 1],
      );
      const fork = await thread.state.fork({ checkpoint_id: checkpoints[1]?.id ?? "" });
      assert.equal((fork as { thread_id?: string }).thread_id, threadId);
      const frames = await read(served, threadId, { runs: 2 });
      assert.equal(of(frames.slice(frames.findIndex(isEnd) + 1), "updates").length, 1);
      await thread.close();
    },
  },
  {
    of: "agent.getTree",
    heddle: "gives the graphs of a run, one in the other, with their ends",
    async check(served) {
      const { threadId } = await play(served, "nested", { trail: [] });
      const { result } = await postCommand(served.url, threadId, "agent.getTree");
      assert.partialDeepStrictEqual(result.tree, {
        namespace: [],
        status: "completed",
        graph_name: "nested",
      });
      const [middle] = result.tree.children;
      assert.deepEqual([middle.graph_name, middle.children[0].graph_name], ["middle", "inner"]);
      const none = await postCommand(served.url, threadId, "agent.getTree", { run_id: randomUUID() });
      assert.equal(none.error, "no_such_run");
    },
  },
  {
    of: "subscription.subscribe, subscription.unsubscribe (WebSocket)",
    heddle: "begin before or after a run, stay for all runs, and answer before they replay",
    async check(served) {
      const threadId = randomUUID();
      const socket = await openSocket(served.url, threadId);
      const subscribed = await socket.send("subscription.subscribe", { channels: ["lifecycle"] });
      assert.equal(subscribed.result.replayed_events, 0);
      for (const runs of [1, 2]) {
        await socket.send("run.start", { assistant_id: "steps", input: plan("add") });
        await socket.until(({ frames }) => frames().filter(isEnd).length === runs);
      }
      const count = socket.frames().length;
      const { subscription_id } = subscribed.result;
      assert.deepEqual((await socket.send("subscription.unsubscribe", { subscription_id })).result, {});
      const later = await socket.send("subscription.subscribe", { channels: ["lifecycle"] });
      assert.equal(later.result.replayed_events, count);
      await socket.until(({ frames }) => frames().length === 2 * count);
      const place = socket.received.indexOf(later);
      assert.ok(place >= 0 && socket.received.slice(place + 1).length === count);
      socket.close();
    },
  },
  {
    of: "subscription.subscribe, subscription.unsubscribe (HTTP)",
    heddle: "are `not_supported` and `no_such_subscription`: the event stream is the subscription",
    async check({ url }) {
      const ask = async (method: string, params: object) =>
        (await postCommand(url, randomUUID(), method, params)).error;
      assert.equal(await ask("subscription.subscribe", { channels: ["values"] }), "not_supported");
      assert.equal(await ask("subscription.unsubscribe", { subscription_id: "x" }), "no_such_subscription");
    },
  },
  {
    of: "subscription.reconnect",
    heddle: "is `not_supported`: a new subscription replays everything",
    async check({ url }) {
      assert.equal((await postCommand(url, randomUUID(), "subscription.reconnect")).error, "not_supported");
    },
  },
  {
    of: "input.inject",
    heddle: "is `not_supported`",
    dev: "`unknown_command`",
    why: "the protocol knows the command, graphs of LangGraph cannot carry it out",
    async check({ url }) {
      const params = { message: { role: "user", content: "x" } };
      assert.equal((await postCommand(url, randomUUID(), "input.inject", params)).error, "not_supported");
    },
  },
  {
    of: "an unknown command, parameters of the wrong shape",
    heddle: "are `unknown_command` and `invalid_argument` with status 200",
    async check({ request }) {
      const place = `/threads/${randomUUID()}/commands`;
      const unknown = await request("POST", place, { id: 3, method: "make.coffee" });
      assert.equal(unknown.status, 200);
      assert.partialDeepStrictEqual(unknown.json, { type: "error", id: 3, error: "unknown_command" });
      const wrong = await request("POST", place, { id: 4, method: "run.start", params: {} });
      assert.partialDeepStrictEqual(wrong.json, { type: "error", id: 4, error: "invalid_argument" });
      assert.match(wrong.json.message, /assistant_id/);
    },
  },
  {
    of: "POST …/commands without id or method",
    heddle: "is 422 and names the field; over a WebSocket an error without an id",
    dev: "400 over HTTP",
    why: "as for every other body",
    async check({ url, request }) {
      const { status, text } = await request("POST", `/threads/${randomUUID()}/commands`, { id: 1 });
      assert.equal(status, 422);
      assert.match(text, /method/);
      const socket = await openSocket(url, randomUUID());
      socket.sendText("{}");
      await socket.until(({ received }) => received.length === 1);
      assert.partialDeepStrictEqual(socket.received[0], {
        type: "error",
        id: null,
        error: "invalid_argument",
      });
      socket.close();
    },
  },
  {
    of: "threads that are no UUID",
    heddle: "are 422",
    dev: "takes any text",
    why: "what it makes could not be read over the other routes, which take UUIDs only",
    async check({ request }) {
      const { status } = await request("POST", "/threads/mine/commands", { id: 1, method: "state.get" });
      assert.equal(status, 422);
    },
  },
];

const frames: Section["rows"] = [
  {
    of: "a frame",
    heddle: "has type, event_id, seq, method, and params with namespace, timestamp and data",
    async check(served) {
      const { frames } = await play(served, "steps", plan("add"));
      for (const { type, event_id, seq, method, params } of frames) {
        assert.equal(type, "event");
        assert.deepEqual(
          [event_id, seq, method, params.timestamp].map((part) => typeof part),
          ["string", "number", "string", "number"],
        );
        assert.ok(Array.isArray(params.namespace) && "data" in params);
      }
    },
  },
  {
    of: "channel lifecycle",
    heddle: "running first, one end last: completed, failed or interrupted; subgraphs have their own",
    async check(served) {
      for (const [word, end] of [
        ["add", "completed"],
        ["fail", "failed"],
        ["ask", "interrupted"],
      ] as const) {
        const { frames } = await play(served, "steps", plan(word));
        assert.deepEqual([frames[0]?.params.data.event, frames.at(-1)?.params.data.event], ["running", end]);
        assert.equal(frames.filter(isEnd).length, 1);
      }
      const { frames } = await play(served, "nested", { trail: [] });
      const seen = of(frames, "lifecycle").map((frame) => [nodes(frame).join("/"), frame.params.data.event]);
      assert.deepEqual(seen, [
        ["", "running"],
        ["middle", "started"],
        ["middle/inner", "started"],
        ["middle/inner", "completed"],
        ["middle", "completed"],
        ["", "completed"],
      ]);
    },
  },
  {
    of: "channel lifecycle: failed",
    heddle: "has the error's message",
    dev: "has it as JSON once more",
    why: "it is the error's message",
    async check(served) {
      const { frames } = await play(served, "steps", plan("fail"));
      assert.equal(frames.at(-1)?.params.data.error, "asked to fail");
    },
  },
  {
    of: "channel values",
    heddle: "is the state after each step, without `__interrupt__`",
    async check(served) {
      const { frames } = await play(served, "steps", plan("add", "ask"));
      assert.deepEqual(dataOf(frames, "values"), [
        { plan: ["add", "ask"], done: [] },
        { plan: ["ask"], done: ["add"] },
      ]);
    },
  },
  {
    of: "channel checkpoints",
    heddle: "is id, parent, step and source of the state that comes next",
    async check(served) {
      const { threadId, frames } = await play(served, "steps", plan("add"));
      const methods = frames.map(({ method }) => method);
      for (const [place, method] of methods.entries())
        if (method === "checkpoints") assert.equal(methods[place + 1], "values");
      const history = await served.client.threads.getHistory(threadId);
      const last = dataOf(frames, "checkpoints").at(-1);
      assert.partialDeepStrictEqual(last, {
        id: history[0]?.checkpoint.checkpoint_id,
        parent_id: history[1]?.checkpoint.checkpoint_id,
        step: 1,
        source: "loop",
      });
    },
  },
  {
    of: "channel updates",
    heddle: "is what a node has changed; the node is in `params.node`",
    async check(served) {
      const { frames } = await play(served, "steps", plan("add"));
      const [update] = of(frames, "updates");
      assert.deepEqual([update?.params.node, update?.params.data], ["act", { plan: [], done: ["add"] }]);
    },
  },
  {
    of: "channel tasks",
    heddle: "is each task's start and end",
    async check(served) {
      const { frames } = await play(served, "steps", plan("add"));
      const [begun, ended] = dataOf(frames, "tasks");
      assert.deepEqual([begun.name, ended.name, ended.id], ["act", "act", begun.id]);
      assert.ok("input" in begun && "result" in ended);
    },
  },
  {
    of: "channel messages",
    heddle: "is a message's start, the parts of its blocks, and its finish",
    async check(served) {
      const { frames } = await play(served, "agent", say("good day"));
      const data = dataOf(frames, "messages");
      const kinds = data.map(({ event }) => event);
      assert.deepEqual(kinds.slice(0, 3), ["message-start", "content-block-start", "content-block-delta"]);
      assert.deepEqual(kinds.slice(-2), ["content-block-finish", "message-finish"]);
      const text = data.map(({ delta }) => (delta?.type === "text-delta" ? delta.text : "")).join("");
      assert.equal(text, "You said: good day");
      assert.equal(data.at(-2).content.text, text);
    },
  },
  {
    of: "channel messages: what the graph sees",
    heddle: "is as over the older routes: a text stays a text",
    dev: "contents become lists of blocks, in the stored state as well",
    why: "a graph must not depend on how it is watched",
    async check(served) {
      const { threadId } = await play(served, "agent", say("hi"));
      const { values } = await served.client.threads.getState<{ messages: { content: unknown }[] }>(threadId);
      assert.equal(values.messages.at(-1)?.content, "You said: hi");
    },
  },
  {
    of: "channel tools",
    heddle: "is each tool call's start and finish",
    async check(served) {
      const { frames } = await play(served, "agent", say("weather Paris"));
      const [begun, ended] = dataOf(frames, "tools");
      assert.deepEqual([begun.event, begun.tool_name], ["tool-started", "weather"]);
      assert.deepEqual(JSON.parse(begun.input), { city: "Paris" });
      assert.equal(ended.event, "tool-finished");
      assert.equal(ended.tool_call_id, begun.tool_call_id);
      assert.match(JSON.stringify(ended.output), /sun in Paris/);
    },
  },
  {
    of: "channel input",
    heddle: "is input.requested once for each interrupt, and input.answered when it has its answer",
    async check(served) {
      const { threadId, frames } = await play(served, "steps", plan("ask"));
      const [asked, ...more] = dataOf(frames, "input.requested");
      assert.deepEqual([asked.payload, more], [{ question: "which?" }, []]);
      await start(served, "steps", "this", { threadId });
      const all = await read(served, threadId, { runs: 2, channels: ["input", "lifecycle"] });
      assert.deepEqual(dataOf(all, "input.answered"), [{ interrupt_ids: [asked.interrupt_id] }]);
    },
  },
  {
    of: "channels custom, custom:<name>",
    heddle: "are what a node writes: all of it, or what has that name",
    async check(served) {
      const { threadId } = await start(served, "steps", plan("write", "tell"));
      const all = await read(served, threadId, { channels: ["custom", "lifecycle"] });
      assert.deepEqual(dataOf(all, "custom"), [
        { payload: { wrote: 1 } },
        { name: "told", payload: { left: 0 } },
      ]);
      const named = await read(served, threadId, { channels: ["custom:told", "lifecycle"] });
      assert.deepEqual(dataOf(named, "custom"), [{ name: "told", payload: { left: 0 } }]);
    },
  },
  {
    of: "channels custom:<name> of stream transformers",
    heddle: "are what a graph's transformers put into named channels, and promise for the end",
    async check(served) {
      const input = { messages: [{ role: "user", content: "count" }] };
      const { threadId } = await start(served, "counted", input);
      const texts = await read(served, threadId, { channels: ["custom:texts", "lifecycle"] });
      const told = dataOf(texts, "custom").map(({ payload }) => payload);
      assert.equal(told.join(""), "one two three");
      const [total] = dataOf(
        await read(served, threadId, { channels: ["custom:total", "lifecycle"] }),
        "custom",
      );
      assert.equal(total.payload.texts, told.length);
    },
  },
  {
    of: "channels: only those that are asked for",
    heddle: "are sent",
    async check(served) {
      const { threadId } = await start(served, "steps", plan("add"));
      const frames = await read(served, threadId, { channels: ["updates", "lifecycle"] });
      assert.deepEqual([...new Set(frames.map(({ method }) => method))].sort(), ["lifecycle", "updates"]);
    },
  },
  {
    of: "namespaces, depth",
    heddle: "keep frames below a prefix, a node's name standing for all its tasks, so many levels deep",
    async check(served) {
      const { threadId } = await play(served, "nested", { trail: [] });
      const seen = async (body: Record<string, unknown>) => {
        const stream = await openStream(served.url, threadId, body);
        const last = JSON.stringify(["middle"]);
        const frames = await stream.until(
          (frame) => frame.params.data.event === "completed" && JSON.stringify(nodes(frame)) === last,
        );
        stream.close();
        return [...new Set(frames.map((frame) => nodes(frame).join("/")))];
      };
      assert.deepEqual(await seen({ namespaces: [["middle"]] }), ["middle", "middle/inner"]);
      assert.deepEqual(await seen({ namespaces: [["middle"]], depth: 0 }), ["middle"]);
    },
  },
  {
    of: "a stream that is opened before the first run",
    heddle: "waits for it, and stays open for those that follow",
    async check(served) {
      const threadId = randomUUID();
      const stream = await openStream(served.url, threadId);
      for (const runs of [1, 2]) {
        await start(served, "steps", plan("add"), { threadId });
        await stream.until(endOf(runs));
      }
      stream.close();
    },
  },
  {
    of: "replay",
    heddle: "gives every reader the same frames from the start, byte by byte, with the same ids",
    dev: "from the memory of one server, until it stops",
    why: "SDKs find out by an event's id what they have had",
    async check(served) {
      const { threadId } = await start(served, "nested", { trail: [] });
      const texts: string[] = [];
      for (const _ of ["live", "later"]) {
        const stream = await openStream(served.url, threadId);
        await stream.until(endOf(1));
        stream.close();
        texts.push(stream.text());
      }
      assert.equal(texts[0], texts[1]);
    },
  },
  {
    of: "since",
    heddle: "goes on after that seq",
    async check(served) {
      const { threadId, frames } = await play(served, "steps", plan("add"));
      const since = frames[3]?.seq;
      assert.deepEqual(await read(served, threadId, { since }), frames.slice(4));
    },
  },
  {
    of: "seq",
    heddle: "only grows, over all runs of a thread",
    dev: "starts again with the server",
    why: "`since` would miss events",
    async check(served) {
      const { threadId } = await play(served, "steps", plan("add"));
      await start(served, "steps", plan("add"), { threadId });
      const seqs = (await read(served, threadId, { runs: 2 })).map(({ seq }) => seq);
      assert.deepEqual(
        seqs,
        [...new Set(seqs)].sort((a, b) => a - b),
      );
    },
  },
  {
    of: "event_id",
    heddle: "is unique in the thread; that of a root lifecycle event is `synth:<run_id>:<seq>`",
    dev: "is the seq",
    why: "newer SDKs read the run's id from it, to stop a run that they have not started",
    async check(served) {
      const { runId, frames } = await play(served, "steps", plan("add"));
      for (const { event_id, seq, method, params } of frames)
        if (method === "lifecycle" && params.namespace.length === 0)
          assert.equal(event_id, `synth:${runId}:${seq}`);
      assert.equal(new Set(frames.map(({ event_id }) => event_id)).size, frames.length);
    },
  },
  {
    of: "POST …/stream/events: keys that nobody knows",
    heddle: "are 422",
    dev: "400",
    why: "as for every other body; a filter that is not understood would send too much",
    async check({ request }) {
      const body = { channels: ["values"], namespace: [] };
      const { status, text } = await request("POST", `/threads/${randomUUID()}/stream/events`, body);
      assert.equal(status, 422);
      assert.match(text, /namespace/);
    },
  },
  {
    of: "channels that nobody knows",
    heddle: "are ignored over SSE, `invalid_argument` over a WebSocket",
    async check(served) {
      const { threadId } = await start(served, "steps", plan("add"));
      const frames = await read(served, threadId, { channels: ["smoke", "lifecycle"] });
      assert.equal(frames.length, 2);
      const socket = await openSocket(served.url, threadId);
      const answer = await socket.send("subscription.subscribe", { channels: ["smoke"] });
      assert.equal(answer.error, "invalid_argument");
      socket.close();
    },
  },
  {
    of: "GET …/stream/events",
    heddle: "opens a WebSocket with commands and frames; without an upgrade it is 404",
    async check(served) {
      const { client, request } = served;
      const options = { assistantId: "steps", transport: "websocket" as const };
      const thread = client.threads.stream(randomUUID(), options);
      await thread.run.start({ input: plan("add") });
      assert.deepEqual(await thread.output, { plan: [], done: ["add"] });
      await thread.close();
      assert.equal((await request("GET", `/threads/${randomUUID()}/stream/events`)).status, 404);
    },
  },
  {
    of: "x-… headers of commands",
    heddle: "are in configurable, as over the older routes",
    dev: "are not",
    why: "a graph must not depend on the protocol that starts it",
    async check({ url, client }) {
      const threadId = randomUUID();
      const params = { assistant_id: "made", input: {} };
      await postCommand(url, threadId, "run.start", params, { "x-mine": "1", "x-api-key": "secret" });
      const [run] = await client.runs.list(threadId);
      const { seen } = (await client.runs.join(threadId, run?.run_id ?? "")) as { seen: { own: object } };
      assert.partialDeepStrictEqual(seen.own, { "x-mine": "1" });
      assert.ok(!JSON.stringify(seen).includes("secret"));
    },
  },
];

export const protocolSection: Section = { title: "Thread protocol", rows: [...commands, ...frames] };
