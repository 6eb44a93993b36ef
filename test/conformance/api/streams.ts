// Streams: modes, their events, resuming.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Section, Served } from "./row.ts";

interface Part {
  readonly id?: string | undefined;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: events of any shape are looked into, and a wrong one fails the check
  readonly data: any;
}

async function stream(
  { client }: Served,
  graph: string,
  options: object,
  threadId: string | null = null,
): Promise<Part[]> {
  const parts: Part[] = [];
  // The overloads take a thread, or null, but not either.
  for await (const part of client.runs.stream(threadId as string, graph, options)) parts.push(part as Part);
  return parts;
}

const events = (parts: readonly Part[]) => parts.map(({ event }) => event);

/** Names of events without the ids of tasks. */
const shapes = (parts: readonly Part[]) =>
  events(parts).map((event) => event.replaceAll(/:[0-9a-f-]{36}/g, ""));

const plan = (...words: string[]) => ({ input: { plan: words } });
const say = (text: string) => ({ input: { messages: [{ role: "user", content: text }] } });

export const streamSection: Section = {
  title: "Streams",
  rows: [
    {
      of: "the first event",
      heddle: "is metadata with run_id and attempt",
      async check(served) {
        const [first] = await stream(served, "steps", plan("add"));
        assert.equal(first?.event, "metadata");
        assert.equal(typeof first?.data.run_id, "string");
        assert.equal(first?.data.attempt, 1);
      },
    },
    {
      of: "stream_mode: values",
      heddle: "is the state after each step; an interrupt is an event of its own",
      async check(served) {
        const parts = await stream(served, "steps", { ...plan("add", "ask"), streamMode: "values" });
        assert.deepEqual(events(parts), ["metadata", "values", "values", "values"]);
        assert.deepEqual(parts[2]?.data, { plan: ["ask"], done: ["add"] });
        assert.deepEqual(Object.keys(parts[3]?.data), ["__interrupt__"]);
        assert.deepEqual(parts[3]?.data.__interrupt__[0].value, { question: "which?" });
      },
    },
    {
      of: "stream_mode: updates",
      heddle: "is what each node has changed",
      async check(served) {
        const parts = await stream(served, "steps", { ...plan("add", "ask"), streamMode: "updates" });
        assert.deepEqual(events(parts), ["metadata", "updates", "updates"]);
        assert.deepEqual(parts[1]?.data, { act: { plan: ["ask"], done: ["add"] } });
        assert.deepEqual(Object.keys(parts[2]?.data), ["__interrupt__"]);
      },
    },
    {
      of: "stream_mode: messages-tuple",
      heddle: "is `messages` with a chunk and its metadata, token by token",
      async check(served) {
        const parts = (
          await stream(served, "agent", { ...say("hello"), streamMode: "messages-tuple" })
        ).slice(1);
        assert.ok(parts.every(({ event }) => event === "messages"));
        assert.equal(parts.map(({ data }) => data[0].content).join(""), "You said: hello");
        assert.ok(parts.length > 2);
        assert.equal(typeof parts[0]?.data[1].langgraph_node, "string");
      },
    },
    {
      of: "stream_mode: messages",
      heddle: "is messages/metadata, messages/partial with all that is there, messages/complete",
      async check(served) {
        const parts = (await stream(served, "agent", { ...say("hello"), streamMode: "messages" })).slice(1);
        const names = new Set(events(parts));
        assert.deepEqual([...names].sort(), ["messages/complete", "messages/metadata", "messages/partial"]);
        const partial = parts.filter(({ event }) => event === "messages/partial");
        assert.equal(partial.at(-1)?.data[0].content, "You said: hello");
      },
    },
    {
      of: "models with the tags nostream, langsmith:hidden",
      heddle: "are not heard in `messages`, `messages-tuple` leaves the first out, `events` the second",
      async check(served) {
        const heard = async (streamMode: "messages" | "messages-tuple" | "events") => {
          const parts = await stream(served, "talk", { input: { messages: [] }, streamMode });
          const growing = parts.filter(
            ({ event, data }) => event !== "events" || data.event === "on_chat_model_stream",
          );
          const text = JSON.stringify(growing.filter(({ event }) => event !== "messages/complete"));
          return ["quietly", "secretly", "openly"].filter((word) => text.includes(word));
        };
        assert.deepEqual(await heard("messages"), ["openly"]);
        assert.deepEqual(await heard("messages-tuple"), ["secretly", "openly"]);
        assert.deepEqual(await heard("events"), ["quietly", "openly"]);
      },
    },
    {
      of: "stream_mode: custom",
      heddle: "is what a node writes",
      async check(served) {
        const parts = await stream(served, "steps", { ...plan("write"), streamMode: "custom" });
        assert.deepEqual(
          parts.slice(1).map(({ event, data }) => [event, data]),
          [["custom", { wrote: 0 }]],
        );
      },
    },
    {
      of: "stream_mode: tasks",
      heddle: "is each task's start and end",
      async check(served) {
        const parts = (await stream(served, "steps", { ...plan("add"), streamMode: "tasks" })).slice(1);
        assert.deepEqual(events(parts), ["tasks", "tasks"]);
        assert.equal(parts[0]?.data.name, "act");
        assert.ok("input" in (parts[0]?.data ?? {}));
        assert.ok("result" in (parts[1]?.data ?? {}));
        assert.equal(parts[0]?.data.id, parts[1]?.data.id);
      },
    },
    {
      of: "stream_mode: checkpoints",
      heddle: "is values, metadata and next of each checkpoint",
      async check(served) {
        const parts = (await stream(served, "steps", { ...plan("add"), streamMode: "checkpoints" })).slice(1);
        assert.ok(parts.length >= 2);
        for (const { event, data } of parts) {
          assert.equal(event, "checkpoints");
          assert.deepEqual(Object.keys(data).sort(), ["metadata", "next", "values"]);
        }
      },
    },
    {
      of: "stream_mode: debug",
      heddle: "is checkpoint, task and task_result with step, time and payload",
      async check(served) {
        const parts = (await stream(served, "steps", { ...plan("add"), streamMode: "debug" })).slice(1);
        assert.deepEqual([...new Set(parts.map(({ event, data }) => `${event} ${data.type}`))].sort(), [
          "debug checkpoint",
          "debug task",
          "debug task_result",
        ]);
        const checkpoint = parts.find(({ data }) => data.type === "checkpoint")?.data;
        assert.equal(typeof checkpoint.payload.checkpoint.checkpoint_id, "string");
      },
    },
    {
      of: "stream_mode: events",
      heddle: "is what streamEvents gives",
      async check(served) {
        const parts = (await stream(served, "steps", { ...plan("add"), streamMode: "events" })).slice(1);
        assert.ok(parts.every(({ event }) => event === "events"));
        const names = new Set(parts.map(({ data }) => data.event));
        assert.ok(names.has("on_chain_start") && names.has("on_chain_end"), [...names].join());
      },
    },
    {
      of: "stream_mode: tools",
      heddle: "is each tool's start and end",
      async check(served) {
        const options = { ...say("weather Paris"), streamMode: "tools" };
        const parts = (await stream(served, "agent", options)).slice(1);
        assert.deepEqual(
          parts.map(({ event, data }) => [event, data.event, data.name]),
          [
            ["tools", "on_tool_start", "weather"],
            ["tools", "on_tool_end", "weather"],
          ],
        );
      },
    },
    {
      of: "several stream modes",
      heddle: "are mixed in the order in which things happen",
      async check(served) {
        const parts = await stream(served, "steps", {
          ...plan("write"),
          streamMode: ["values", "updates", "custom"],
        });
        assert.deepEqual(events(parts), ["metadata", "values", "custom", "updates", "values"]);
      },
    },
    {
      of: "stream_subgraphs",
      heddle: "adds the subgraph's name and task to the event",
      async check(served) {
        const parts = await stream(served, "nested", {
          input: { trail: [] },
          streamMode: "updates",
          streamSubgraphs: true,
        });
        assert.deepEqual(shapes(parts), [
          "metadata",
          "updates",
          "updates|middle",
          "updates|middle|inner",
          "updates|middle",
          "updates",
        ]);
      },
    },
    {
      of: "stream_subgraphs with stream_mode: values",
      heddle: "puts an event `checkpoints` with id, parent_id, step and source before each state",
      async check(served) {
        const parts = await stream(served, "nested", {
          input: { trail: [] },
          streamMode: "values",
          streamSubgraphs: true,
        });
        const states = parts.slice(1);
        assert.ok(states.length > 8);
        for (const [index, { event, data }] of states.entries()) {
          const [name, ...place] = event.split("|");
          if (name === "values") continue;
          assert.equal(name, "checkpoints");
          assert.partialDeepStrictEqual(Object.keys(data).sort(), ["id", "source", "step"]);
          assert.equal(states[index + 1]?.event, ["values", ...place].join("|"));
        }
        const count = (wanted: string) => states.filter(({ event }) => event.split("|")[0] === wanted).length;
        assert.equal(count("checkpoints"), count("values"));
      },
    },
    {
      of: "feedback_keys",
      heddle: "add no event, and the run is a success",
      dev: "asks LangSmith for addresses, and the run fails without it",
      why: "nothing is sent to LangSmith",
      async check(served) {
        const { thread_id } = await served.client.threads.create();
        const options = { ...plan("add"), feedbackKeys: ["score"] };
        const parts = await stream(served, "steps", options, thread_id);
        assert.deepEqual(events(parts), ["metadata", "values", "values"]);
        const [run] = await served.client.runs.list(thread_id);
        assert.equal(run?.status, "success");
      },
    },
    {
      of: "a run that fails",
      heddle: "ends with an error event of name and message",
      async check(served) {
        const last = (await stream(served, "steps", plan("fail"))).at(-1);
        assert.equal(last?.event, "error");
        assert.deepEqual(last?.data, { error: "RangeError", message: "asked to fail" });
      },
    },
    {
      of: "GET …/runs/:id/stream",
      heddle:
        "gives a run's events during and after it, to any number of readers; Last-Event-ID says where to go on",
      dev: "a stream that is not resumable is read once, and forgotten by a restart",
      why: "a client that was cut off must not miss anything",
      async check(served) {
        const { client } = served;
        const { thread_id } = await client.threads.create();
        const source = await stream(served, "steps", plan("add", "wait", "add"), thread_id);
        const [run] = await client.runs.list(thread_id);
        const read = async (lastEventId: string) => {
          const parts: Part[] = [];
          for await (const part of client.runs.joinStream(thread_id, run?.run_id ?? "", { lastEventId }))
            parts.push(part as Part);
          return parts;
        };
        assert.deepEqual(await read("-1"), source);
        assert.deepEqual(await read(source[1]?.id ?? ""), source.slice(2));
      },
    },
    {
      of: "GET …/runs/:id/stream: stream_mode",
      heddle: "picks modes of those that were asked for at the start; ids stay",
      dev: "is ignored",
      why: "the SDK has it",
      async check(served) {
        const { client } = served;
        const { thread_id } = await client.threads.create();
        const options = { ...plan("add"), streamMode: ["values", "updates"] };
        const source = await stream(served, "steps", options, thread_id);
        const [run] = await client.runs.list(thread_id);
        const parts: Part[] = [];
        const own = { lastEventId: "-1", streamMode: "updates" as const };
        for await (const part of client.runs.joinStream(thread_id, run?.run_id ?? "", own))
          parts.push(part as Part);
        const wanted = source.filter(({ event }) => event !== "values");
        assert.deepEqual(parts, wanted);
      },
    },
    {
      of: "GET /threads/:id/stream",
      heddle: "joins the streams of all runs of a thread, tells the end of each, and stays open",
      dev: "404",
      why: "the SDK has it",
      async check(served) {
        const { client } = served;
        const { thread_id } = await client.threads.create();
        const gone = new AbortController();
        const joined = client.threads.joinStream(thread_id, { signal: gone.signal, lastEventId: "-1" });
        const seen: string[] = [];
        const reading = (async () => {
          for await (const { event, data } of joined) {
            const isDone = event === "metadata" && (data as { status?: string }).status === "run_done";
            seen.push(isDone ? "done" : event);
            if (seen.filter((name) => name === "done").length === 2) gone.abort();
          }
        })().catch((error: unknown) => {
          if (!gone.signal.aborted) throw error;
        });
        await client.runs.wait(thread_id, "steps", plan("add"));
        await client.runs.wait(thread_id, "steps", plan("add"));
        await reading;
        const one = ["metadata", "values", "values", "done"];
        assert.deepEqual(seen, [...one, ...one]);
      },
    },
    {
      of: "the headers of a stream",
      heddle:
        "Content-Location names the run, Location its stream, so that newer SDKs reconnect by themselves",
      dev: "no Location",
      why: "without it they do not",
      async check({ url, client }) {
        const { thread_id } = await client.threads.create();
        const answer = await fetch(`${url}/threads/${thread_id}/runs/stream`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ assistant_id: "steps", input: { plan: ["add"] } }),
        });
        await answer.text();
        const [run] = await client.runs.list(thread_id);
        const place = `/threads/${thread_id}/runs/${run?.run_id}`;
        assert.equal(answer.headers.get("content-location"), place);
        assert.equal(answer.headers.get("location"), `${place}/stream`);
        assert.match(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
      },
    },
    {
      of: "ids of events",
      heddle: "count from 0",
      async check(served) {
        const { thread_id } = await served.client.threads.create();
        const parts = await stream(served, "steps", plan("add", "add"), thread_id);
        assert.deepEqual(
          parts.map(({ id }) => id),
          ["0", "1", "2", "3"],
        );
      },
    },
    {
      of: "the end of a stream",
      heddle: "is no event of its own; the run has its status before the stream closes",
      dev: "the status may come a little later",
      why: "newer SDKs look at it, and connect again while the run seems to go on",
      async check(served) {
        const { client } = served;
        const { thread_id } = await client.threads.create();
        const parts = await stream(served, "steps", plan("add"), thread_id);
        assert.equal((await client.runs.list(thread_id))[0]?.status, "success");
        assert.equal(parts.at(-1)?.event, "values");
      },
    },
    {
      of: "a run that is cancelled",
      heddle: "ends its stream without an error event",
      async check(served) {
        const { client } = served;
        const { thread_id } = await client.threads.create();
        const seen: string[] = [];
        for await (const { event, data } of client.runs.stream(
          thread_id,
          "steps",
          plan("wait", "wait", "wait"),
        )) {
          seen.push(event);
          if (event === "metadata") void client.runs.cancel(thread_id, (data as { run_id: string }).run_id);
        }
        assert.ok(!seen.includes("error"), seen.join());
      },
    },
    {
      of: "GET /runs/:id/stream",
      heddle: "joins the stream of a stateless run; Content-Location names it",
      async check({ client, url }) {
        const run = await client.runs.create(null, "steps", plan("wait", "add"));
        const seen: string[] = [];
        for await (const { event } of client.runs.joinStream(null, run.run_id, { lastEventId: "-1" }))
          seen.push(event);
        assert.deepEqual(seen, ["metadata", "values", "values", "values"]);
        const kept = await client.runs.create(null, "steps", {
          ...plan("wait"),
          onCompletion: "keep" as never,
        });
        const answer = await fetch(`${url}/runs/${kept.run_id}/stream`);
        assert.equal(answer.headers.get("content-location"), `/runs/${kept.run_id}`);
        await answer.text();
      },
    },
    {
      of: "GET …/runs/:id/stream without Last-Event-ID",
      heddle: "gives what is new: nothing of a run that has ended",
      async check(served) {
        const { client } = served;
        const { thread_id } = await client.threads.create();
        await client.runs.wait(thread_id, "steps", plan("add"));
        const [run] = await client.runs.list(thread_id);
        const seen: unknown[] = [];
        for await (const part of client.runs.joinStream(thread_id, run?.run_id ?? "")) seen.push(part);
        assert.deepEqual(seen, []);
      },
    },
    {
      of: "GET …/runs/:id/stream of a run that is not there",
      heddle: "is 404 `Run not found`",
      dev: "200, and the words as an error event",
      why: "that is what is wrong",
      async check({ client, request }) {
        const { thread_id } = await client.threads.create();
        const { status, text } = await request("GET", `/threads/${thread_id}/runs/${randomUUID()}/stream`);
        assert.deepEqual([status, text], [404, "Run not found"]);
      },
    },
    {
      of: "GET …/runs/:id/stream of a thread that is not there, or is somebody else's",
      heddle: "is one error event, `404: Thread not found`",
      async check({ request }) {
        const { status, text } = await request("GET", `/threads/${randomUUID()}/runs/${randomUUID()}/stream`);
        assert.equal(status, 200);
        assert.match(text, /^event: error\ndata: \{"error":"Error","message":"404: Thread not found"\}\n/);
      },
    },
    {
      of: "GET …/runs/:id/stream: namespace, checkpoint_id",
      heddle: "pick graphs, and what comes after a checkpoint",
      dev: "are ignored",
      why: "newer SDKs send them",
      async check(served) {
        const { client, request } = served;
        const { thread_id } = await client.threads.create();
        const options = { input: { trail: [] }, streamMode: ["values", "updates"], streamSubgraphs: true };
        await stream(served, "nested", options, thread_id);
        const [run] = await client.runs.list(thread_id);
        const read = async (query: string) => {
          const place = `/threads/${thread_id}/runs/${run?.run_id}/stream?${query}`;
          const { text } = await request("GET", place, undefined, { "last-event-id": "-1" });
          return [...text.matchAll(/^event: (.*)$/gm)].map(([, name = ""]) =>
            name.replaceAll(/:[0-9a-f-]{36}/g, ""),
          );
        };
        const root = await read("namespace=");
        assert.equal(root[0], "metadata");
        assert.equal(root.filter((name) => name === "updates").length, 2);
        assert.ok(!root.some((name) => name.includes("|")), root.join());
        const history = await client.threads.getHistory(thread_id);
        const after = history.find(({ next }) => next[0] === "middle")?.checkpoint.checkpoint_id;
        const rest = await read(`checkpoint_id=${after}`);
        assert.ok(!rest.includes("metadata") && rest.includes("updates|middle"), rest.join());
        assert.equal(rest.filter((name) => name === "updates").length, 1);
      },
    },
    {
      of: "a stream that has nothing to say",
      heddle: "says `: heartbeat` every five seconds; wait sends white space",
      dev: "only wait does",
      why: "newer SDKs take a silent stream for dead",
      async check({ url, client, request }) {
        const { thread_id } = await client.threads.create();
        const gone = new AbortController();
        const first = async (place: string, init: RequestInit = {}) => {
          const { body } = await fetch(url + place, { ...init, signal: gone.signal });
          const { value } = (await body?.getReader().read()) ?? {};
          return new TextDecoder().decode(value);
        };
        const post = (body: object) => ({ method: "POST", body: JSON.stringify(body) });
        const begun = Date.now();
        const heard = await Promise.all([
          first(`/threads/${thread_id}/stream`),
          first(`/threads/${randomUUID()}/stream/events`, post({ channels: ["values"] })),
          first(
            `/threads/${thread_id}/runs/wait`,
            post({ assistant_id: "steps", input: {}, after_seconds: 60 }),
          ),
        ]);
        gone.abort();
        assert.deepEqual(heard, [": heartbeat\n\n", ": heartbeat\n\n", "\n"]);
        assert.ok(Date.now() - begun < 10_000);
        await request("DELETE", `/threads/${thread_id}`);
      },
    },
  ],
};
