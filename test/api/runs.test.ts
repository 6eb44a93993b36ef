// Runs through the official SDK: background, waited for, streamed, joined, cancelled; what happens when several meet.
import type { Run } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { collect, human, lastText } from "../helpers/sdk.ts";

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp();
});
afterAll(() => heddle.close());

const newThread = async () => (await heddle.client.threads.create()).thread_id;
const wait = (threadId: string, text: string) =>
  heddle.client.runs.wait(threadId, "script", { input: human(text) });
const background = (threadId: string, text: string, payload: object = {}) =>
  heddle.client.runs.create(threadId, "script", { input: human(text), ...payload });
const statusOf = async (run: Run) => (await heddle.client.runs.get(run.thread_id, run.run_id)).status;

describe("a run on a thread", () => {
  it("answers, and the next one knows what came before", async () => {
    const threadId = await newThread();
    expect(lastText(await wait(threadId, "do a"))).toBe("1 a");
    expect(lastText(await wait(threadId, "do b"))).toBe("3 b");
    const thread = await heddle.client.threads.get(threadId);
    expect(thread.status).toBe("idle");
    expect(thread.metadata).toMatchObject({ graph_id: "script" });
    expect(lastText(thread.values)).toBe("3 b");
  });

  it("streams every mode that was asked for, the metadata first", async () => {
    const threadId = await newThread();
    const events = await collect(
      heddle.client.runs.stream(threadId, "script", {
        input: human("note something"),
        streamMode: ["values", "updates", "messages-tuple", "custom"],
      }),
    );
    expect(events[0]).toMatchObject({ event: "metadata", data: { attempt: 1 } });
    expect(new Set(events.map((event) => event.event))).toEqual(
      new Set(["metadata", "values", "updates", "messages", "custom"]),
    );
    expect(events.find((event) => event.event === "custom")?.data).toEqual({ note: "something" });
    expect(lastText(events.findLast((event) => event.event === "values")?.data)).toBe("1 noted");
  });

  it("streams only the modes that were asked for", async () => {
    const threadId = await newThread();
    const events = await collect(
      heddle.client.runs.stream(threadId, "script", { input: human("do it"), streamMode: "updates" }),
    );
    expect(events.map((event) => event.event)).toEqual(["metadata", "updates"]);
  });

  it("sends a model's tokens one by one", async () => {
    const threadId = await newThread();
    const events = await collect(
      heddle.client.runs.stream(threadId, "script", {
        input: human("say word"),
        streamMode: "messages-tuple",
      }),
    );
    const chunks = events
      .filter((event) => event.event === "messages")
      .map(({ data }) => (data as { content: string }[])[0]);
    expect(chunks.map((chunk) => chunk?.content).join("")).toBe("word");
    expect(chunks.length).toBeGreaterThanOrEqual(4);
  });

  it("tells where it is found, and can be joined after its end", async () => {
    const threadId = await newThread();
    let created: { run_id: string; thread_id?: string } | undefined;
    const events = await collect(
      heddle.client.runs.stream(threadId, "script", {
        input: human("do it"),
        onRunCreated: (run) => {
          created = run;
        },
      }),
    );
    expect(created?.thread_id).toBe(threadId);
    const runId = created?.run_id ?? "";
    expect(lastText(await heddle.client.runs.join(threadId, runId))).toBe("1 it");
    const again = await collect(heddle.client.runs.joinStream(threadId, runId, { lastEventId: "-1" }));
    expect(again).toEqual(events);
  });

  it("ends as an error that names the cause, and the thread still works", async () => {
    const threadId = await newThread();
    await expect(wait(threadId, "fail on purpose")).rejects.toThrow("RangeError: on purpose");
    const thread = await heddle.client.threads.get(threadId);
    expect(thread.status).toBe("error");
    const [run] = await heddle.client.runs.list(threadId);
    expect(run).toMatchObject({ status: "error", error: { error: "RangeError", message: "on purpose" } });
    const events = await collect(
      heddle.client.runs.stream(threadId, "script", { input: human("fail again"), streamMode: "updates" }),
    ).catch((error: Error) => error);
    expect(events).toMatchObject([{ event: "metadata" }, { event: "error", data: { message: "again" } }]);
    expect(lastText(await wait(threadId, "do better"))).toMatch(/better$/);
    expect((await heddle.client.threads.get(threadId)).status).toBe("idle");
  });

  it.each([
    ["nothing", "undefined"],
    ["an object", '"code":7'],
    ["odd text", "NUL \ufffd and \ufffd"],
    ["a trap", "caught"],
  ])("ends as an error whatever the graph throws: %s", async (what, message) => {
    const threadId = await newThread();
    const run = await background(threadId, `throw ${what}`);
    await heddle.client.runs.join(threadId, run.run_id);
    expect(await heddle.client.runs.get(threadId, run.run_id)).toMatchObject({
      status: "error",
      error: { error: expect.any(String), message: expect.stringContaining(message) },
    });
    expect(lastText(await wait(threadId, "do more"))).toBe("2 more");
  });

  it("stops at an interrupt and goes on with the answer", async () => {
    const threadId = await newThread();
    const asked = (await wait(threadId, "ask your name")) as unknown as {
      __interrupt__: { value: string }[];
    };
    expect(asked.__interrupt__[0]?.value).toBe("your name");
    const thread = await heddle.client.threads.get(threadId);
    expect(thread.status).toBe("interrupted");
    expect(Object.values(thread.interrupts).flat()).toMatchObject([{ value: "your name" }]);
    const done = await heddle.client.runs.wait(threadId, "script", { command: { resume: "Ada" } });
    expect(lastText(done)).toBe("1 Ada");
    expect((await heddle.client.threads.get(threadId)).interrupts).toEqual({});
  });
});

describe("several runs on a thread", () => {
  it("are refused by default while one is unfinished", async () => {
    const threadId = await newThread();
    const first = await background(threadId, "wait reject");
    await gateReached("reject");
    await expect(background(threadId, "do more")).rejects.toThrow(
      "HTTP 422: Thread is already running a task",
    );
    openGate("reject");
    await heddle.client.runs.join(threadId, first.run_id);
    expect(lastText(await wait(threadId, "do more"))).toBe("3 more");
  });

  it("run one after the other when they are enqueued", async () => {
    const threadId = await newThread();
    const first = await background(threadId, "wait enqueue");
    await gateReached("enqueue");
    const second = await background(threadId, "do b", { multitaskStrategy: "enqueue" });
    const third = await background(threadId, "do c", { multitaskStrategy: "enqueue" });
    expect(await statusOf(second)).toBe("pending");
    expect((await heddle.client.threads.get(threadId)).status).toBe("busy");
    openGate("enqueue");
    const values = await heddle.client.runs.join(threadId, third.run_id);
    expect(
      (values as { messages: { content: string }[] }).messages.map((message) => message.content),
    ).toEqual(["wait enqueue", "1 waited", "do b", "3 b", "do c", "5 c"]);
    const runs = await heddle.client.runs.list(threadId);
    expect(runs.map((run) => run.run_id)).toEqual([third.run_id, second.run_id, first.run_id]);
  });

  it("give way to one that interrupts: what the first had done stays", async () => {
    const threadId = await newThread();
    const first = await background(threadId, "wait interrupt");
    await gateReached("interrupt");
    const second = await background(threadId, "do b", { multitaskStrategy: "interrupt" });
    expect(lastText(await heddle.client.runs.join(threadId, second.run_id))).toBe("2 b");
    expect(await statusOf(first)).toBe("interrupted");
  });

  it("give way to one that rolls back: nothing of the first is left", async () => {
    const threadId = await newThread();
    await wait(threadId, "do a");
    const first = await background(threadId, "wait rollback");
    await gateReached("rollback");
    const second = await background(threadId, "do b", { multitaskStrategy: "rollback" });
    expect(lastText(await heddle.client.runs.join(threadId, second.run_id))).toBe("3 b");
    await expect(statusOf(first)).rejects.toThrow("HTTP 404");
    const history = await heddle.client.threads.getHistory(threadId, { limit: 100 });
    expect(JSON.stringify(history)).not.toContain("rollback");
  });
});

describe("a request with an Idempotency-Key", () => {
  const post = async (route: string, key: string, text: string) => {
    const response = await fetch(heddle.url + route, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": key },
      body: JSON.stringify({ assistant_id: "script", input: human(text) }),
    });
    return { status: response.status, text: await response.text() };
  };

  it("makes one run, however often and in whatever way it is sent", async () => {
    const threadId = await newThread();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(`/threads/${threadId}/runs`, "a", "do it")),
    );
    expect(new Set(answers.map((answer) => JSON.parse(answer.text).run_id)).size).toBe(1);
    expect(lastText(JSON.parse((await post(`/threads/${threadId}/runs/wait`, "a", "do it")).text))).toBe(
      "1 it",
    );
    const [first, second] = [
      await post(`/threads/${threadId}/runs/stream`, "a", "do it"),
      await post(`/threads/${threadId}/runs/stream`, "a", "do it"),
    ];
    expect(second).toEqual(first);
    expect(first.text).toContain("1 it");
    expect(await heddle.client.runs.list(threadId)).toHaveLength(1);
  });

  it("makes one stateless run", async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => post("/runs", "b", "do it")));
    expect(new Set(answers.map((answer) => JSON.parse(answer.text).thread_id)).size).toBe(1);
  });

  it("is refused when the key was another request's on this thread", async () => {
    const threadId = await newThread();
    await post(`/threads/${threadId}/runs/wait`, "c", "do it");
    expect((await post(`/threads/${threadId}/runs`, "c", "do more")).status).toBe(422);
    expect((await post(`/threads/${threadId}/runs`, "d".repeat(256), "do it")).status).toBe(422);
    expect((await post(`/threads/${await newThread()}/runs`, "c", "do more")).status).toBe(200);
  });
});

describe("cancelling", () => {
  it("ends a running run, keeps its thread usable, and says when it is done", async () => {
    const threadId = await newThread();
    const run = await background(threadId, "wait cancel");
    await gateReached("cancel");
    await heddle.client.runs.cancel(threadId, run.run_id, true);
    expect(await statusOf(run)).toBe("interrupted");
    expect(lastText(await wait(threadId, "do more"))).toBe("2 more");
  });

  it("answers 202 at once when it is not to wait", async () => {
    const threadId = await newThread();
    const run = await background(threadId, "wait cancel-202");
    await gateReached("cancel-202");
    const response = await fetch(`${heddle.url}/threads/${threadId}/runs/${run.run_id}/cancel?wait=0`, {
      method: "POST",
    });
    expect(response.status).toBe(202);
    await heddle.client.runs.join(threadId, run.run_id);
    expect(await statusOf(run)).toBe("interrupted");
  });

  it("ends a pending run before it starts", async () => {
    const threadId = await newThread();
    const run = await background(threadId, "do it", { afterSeconds: 3600 });
    await heddle.client.runs.cancel(threadId, run.run_id, true);
    expect(await statusOf(run)).toBe("interrupted");
    expect((await heddle.client.threads.get(threadId)).status).toBe("idle");
  });

  it("does nothing to a run that has ended", async () => {
    const threadId = await newThread();
    await wait(threadId, "do it");
    const [run] = await heddle.client.runs.list(threadId);
    await heddle.client.runs.cancel(threadId, run?.run_id ?? "", true);
    expect(run && (await statusOf(run))).toBe("success");
  });

  it("follows from a client that disconnects, if it said so", async () => {
    const threadId = await newThread();
    const controller = new AbortController();
    const reading = collect(
      heddle.client.runs.stream(threadId, "script", {
        input: human("wait gone"),
        onDisconnect: "cancel",
        signal: controller.signal,
      }),
    ).catch(() => undefined);
    await gateReached("gone");
    const [run] = await heddle.client.runs.list(threadId);
    controller.abort();
    await reading;
    await heddle.client.runs.join(threadId, run?.run_id ?? "");
    expect(run && (await statusOf(run))).toBe("interrupted");
  });

  it("does not follow from a client that disconnects otherwise", async () => {
    const threadId = await newThread();
    const controller = new AbortController();
    const reading = collect(
      heddle.client.runs.stream(threadId, "script", {
        input: human("wait stays"),
        signal: controller.signal,
      }),
    ).catch(() => undefined);
    await gateReached("stays");
    const [run] = await heddle.client.runs.list(threadId);
    controller.abort();
    await reading;
    openGate("stays");
    expect(lastText(await heddle.client.runs.join(threadId, run?.run_id ?? ""))).toBe("1 waited");
  });
});

describe("a stateless run", () => {
  it("waits, streams, and leaves no thread behind", async () => {
    expect(lastText(await heddle.client.runs.wait(null, "script", { input: human("do it") }))).toBe("1 it");
    const events = await collect(
      heddle.client.runs.stream(null, "script", { input: human("do it"), streamMode: "updates" }),
    );
    expect(events.map((event) => event.event)).toEqual(["metadata", "updates"]);
    const [left] = await heddle.database.db.query<{ kept: string }>(
      "select count(*) as kept from heddle.threads t join heddle.runs r using (thread_id) where (r.kwargs ->> 'temporary')::boolean and t.delete_after is null",
    );
    expect(left?.kept).toBe("0");
  });
});

describe("joining a stream", () => {
  it("gives every reader each event once, whichever event it had last", async () => {
    const threadId = await newThread();
    const run = await background(threadId, "say abcdefgh", { streamMode: ["messages-tuple", "values"] });
    const full = await collect(heddle.client.runs.joinStream(threadId, run.run_id, { lastEventId: "-1" }));
    const ids = full.map((event) => Number((event as { id?: string }).id));
    expect(ids).toEqual(ids.map((_, index) => index));
    for (const id of ids) {
      const rest = await collect(
        heddle.client.runs.joinStream(threadId, run.run_id, { lastEventId: String(id) }),
      );
      expect(rest).toEqual(full.slice(id + 1));
    }
  });

  it("starts from the beginning when the last event id is none", async () => {
    const threadId = await newThread();
    const run = await background(threadId, "do it");
    await heddle.client.runs.join(threadId, run.run_id);
    const full = await collect(heddle.client.runs.joinStream(threadId, run.run_id, { lastEventId: "-1" }));
    for (const lastEventId of ["abc", "9e99", "-7", "99999999999999999999"]) {
      expect(await collect(heddle.client.runs.joinStream(threadId, run.run_id, { lastEventId }))).toEqual(
        full,
      );
    }
  });

  it("lets two readers follow one running run", async () => {
    const threadId = await newThread();
    const run = await background(threadId, "wait readers");
    await gateReached("readers");
    const readers = [1, 2].map(() =>
      collect(heddle.client.runs.joinStream(threadId, run.run_id, { lastEventId: "-1" })),
    );
    openGate("readers");
    const [one, two] = await Promise.all(readers);
    expect(one).toEqual(two);
    expect(lastText(one?.at(-1)?.data)).toBe("1 waited");
  });
});

describe("graphs in other forms", () => {
  it("may be a factory, which gets the run's configuration and what it is wanted for", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const values = await heddle.client.runs.wait(thread_id, "made", {
      input: { seen: "" },
      config: { configurable: { flavour: "sweet" } },
    });
    expect(values).toEqual({ seen: "sweet for threads.create_run" });
    expect((await heddle.client.threads.getState(thread_id)).values).toEqual(values);
  });

  it.each(["promised", "builder"])("may be a %s", async (graph) => {
    expect(await heddle.client.runs.wait(null, graph, { input: { seen: "" } })).toEqual({ seen: graph });
  });
});
