// Named checkpoints over HTTP (document 003, §5, and the lists of §7 to §9 in our terms): made, listed, shown, restored on
// the same thread and on a new one, deleted, and refused.
import { randomUUID } from "node:crypto";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { createCaller } from "./caller.ts";

const fixture = (name: string) => path.resolve(import.meta.dirname, "../fixtures/checkpoints", name);
let heddle: TestApp;
let call: ReturnType<typeof createCaller>;
beforeAll(async () => {
  heddle = await startApp({ graphs: fixture("langgraph.json") });
  call = createCaller(heddle.url);
});
afterAll(() => heddle.close());

/** An order that waits for its approval. */
async function waitingOrder(items = ["bolt", "nut"]): Promise<string> {
  const { thread_id } = await heddle.client.threads.create();
  await heddle.client.runs.wait(thread_id, "order", { input: { items } });
  return thread_id;
}

const answer = (threadId: string, resume: unknown, graphId = "order") =>
  heddle.client.runs.wait(threadId, graphId, { command: { resume } });
const statesOf = async (threadId: string) =>
  (await heddle.client.threads.getHistory(threadId)).map(({ values }) => JSON.stringify(values));

describe("a named checkpoint", () => {
  it("shows the workflow in the document's words", async () => {
    const id = await waitingOrder();
    const made = await call.create(id, { workflow_id: "order-tracking", metadata: { user: "alice" } });
    const { tasks, checkpoint, metadata } = await heddle.client.threads.getState(id);
    const [task] = tasks;
    expect(made).toMatchObject({
      version: 1,
      workflow_id: "order-tracking",
      messages: {
        approve: [{ task_id: task?.id, kind: "edge", is_done: false, requests: task?.interrupts }],
      },
      shared_state: { items: ["bolt", "nut"], status: "awaiting-approval", picked: ["bolt", "nut"] },
      executor_states: { approve: { asked: 2 } },
      iteration_count: metadata?.step,
      metadata: { user: "alice" },
      thread_id: id,
      graph_id: "order",
      langgraph_checkpoint_id: checkpoint?.checkpoint_id,
      trigger: "request",
    });
    // The version of the graph that the thread has been started with.
    expect(metadata).toMatchObject({ graph_version: made.topology.version });
    expect(await call.get(id, made.checkpoint_id)).toEqual(made);
  });

  it("keeps tool calls and their results with the executor that has made them", async () => {
    const id = await waitingOrder();
    const { executor_states } = await call.create(id);
    const history = executor_states.approve?.chat_history as { contents: object[] }[];
    expect(history.flatMap(({ contents }) => contents)).toEqual([
      { type: "function_call", call_id: "c1", name: "stock", arguments: "{}" },
      { type: "function_result", call_id: "c1", result: { left: 3 } },
    ]);
  });

  it("of an earlier state shows the messages that were queued then", async () => {
    const id = await waitingOrder();
    const history = await heddle.client.threads.getHistory(id);
    const sent = history.find(({ next }) => next.includes("pick"));
    const made = await call.create(id, { langgraph_checkpoint_id: sent?.checkpoint?.checkpoint_id });
    expect(made.messages.pick?.map(({ kind, payload }) => [kind, payload])).toEqual([
      ["send", { item: "bolt" }],
      ["send", { item: "nut" }],
    ]);
    expect(made).toMatchObject({
      workflow_id: "order",
      iteration_count: 1,
      shared_state: { status: "taken" },
    });
  });

  it("is listed with the others of its workflow, the newest first, without the states", async () => {
    const id = await waitingOrder();
    const first = await call.create(id, { metadata: { n: 1 } });
    const second = await call.create(id, { metadata: { n: 2 }, workflow_id: "other" });
    const listed = await call.list(id);
    expect(listed.map(({ checkpoint_id, metadata }) => [checkpoint_id, metadata])).toEqual([
      [second.checkpoint_id, { n: 2 }],
      [first.checkpoint_id, { n: 1 }],
    ]);
    expect(Object.keys(listed[0] ?? {})).not.toContain("shared_state");
    expect(await call.list(id, "?workflow_id=other")).toEqual([listed[0]]);
    expect(await call.list(id, "?limit=1&offset=1")).toEqual([listed[1]]);
  });

  it("is gone when it is deleted, and the thread's own state is not", async () => {
    const id = await waitingOrder();
    const { checkpoint_id } = await call.create(id);
    const before = await heddle.client.threads.getHistory(id);
    expect((await call.send("DELETE", `/threads/${id}/checkpoints/${checkpoint_id}`)).status).toBe(204);
    expect((await call.send("DELETE", `/threads/${id}/checkpoints/${checkpoint_id}`)).status).toBe(404);
    expect(await call.list(id)).toEqual([]);
    expect(await heddle.client.threads.getHistory(id)).toEqual(before);
  });

  it("carries an agent's serialized thread in its metadata, to the last character", async () => {
    const id = await waitingOrder();
    const agent_thread = {
      service_thread_id: null,
      chat_message_store_state: { messages: [{ role: "tool", contents: [{ result: "é\\u0041😀" }] }] },
    };
    const { checkpoint_id } = await call.create(id, { metadata: { session: "s-1", agent_thread } });
    await call.restore(id, checkpoint_id);
    expect((await call.get(id, checkpoint_id)).metadata).toEqual({ session: "s-1", agent_thread });
  });

  it("outlives what is pruned from its thread, and can be restored then", async () => {
    const id = await waitingOrder();
    const { checkpoint_id } = await call.create(id);
    await answer(id, "yes");
    await heddle.client.threads.prune([id], { strategy: "keep_latest" });
    expect(await statesOf(id)).toHaveLength(1);
    await call.restore(id, checkpoint_id);
    expect(await answer(id, "late")).toMatchObject({ status: "late, shipped", picked: ["bolt", "nut"] });
  });

  it.each(["memory", "postgres"])(
    "is not made of a thread that is deleted meanwhile, in %s",
    async (storage) => {
      const gate = randomUUID();
      const { thread_id } = await heddle.client.threads.create();
      const config = { configurable: { gate } };
      const { run_id } = await heddle.client.runs.create(thread_id, "guarded", {
        input: { items: ["bolt"] },
        config,
      });
      await heddle.client.runs.join(thread_id, run_id).catch(() => undefined);
      const made = call.send("POST", `/threads/${thread_id}/checkpoints`, { storage });
      await gateReached(gate);
      await heddle.client.threads.delete(thread_id);
      openGate(gate);
      expect(await made).toMatchObject({ status: 404, body: { error: { code: "thread_not_found" } } });
      await heddle.client.threads.create({ threadId: thread_id });
      expect(await call.list(thread_id, `?storage=${storage}`)).toEqual([]);
    },
  );

  it("goes with its thread", async () => {
    const id = await waitingOrder();
    await call.create(id);
    await heddle.client.threads.delete(id);
    const rows = await heddle.database.db.query(
      "select 1 from heddle.workflow_checkpoints where thread_id = $1::uuid",
      [id],
    );
    expect(rows).toEqual([]);
  });
});

describe("a restore", () => {
  it("on the same thread makes the checkpoint the newest state; the history stays", async () => {
    const id = await waitingOrder();
    const { checkpoint_id } = await call.create(id);
    const waiting = await heddle.client.threads.getState(id);
    await answer(id, "yes");
    const before = await statesOf(id);
    const restored = await call.restore(id, checkpoint_id);
    expect(restored).toMatchObject({ thread_id: id, next: ["approve"] });
    const state = await heddle.client.threads.getState(id);
    // The same tasks and the same questions: what a client has kept of them still holds.
    expect(state).toMatchObject({
      tasks: waiting.tasks,
      values: waiting.values,
      checkpoint: waiting.checkpoint,
    });
    expect((await heddle.client.threads.get(id)).status).toBe("interrupted");
    expect((await statesOf(id)).toSorted()).toEqual([...before, JSON.stringify(waiting.values)].toSorted());
    expect(await answer(id, "no")).toMatchObject({ status: "no, shipped" });
    // Both ends of the story are there, each with its beginning.
    const history = await heddle.client.threads.getHistory(id);
    const ends = history.filter(({ next }) => next.length === 0);
    expect(ends.map(({ values }) => (values as { status: string }).status)).toEqual([
      "no, shipped",
      "yes, shipped",
    ]);
    const ids = new Set(history.map(({ checkpoint }) => checkpoint?.checkpoint_id));
    expect(
      history.filter(({ parent_checkpoint: parent }) => parent && !ids.has(parent.checkpoint_id)),
    ).toEqual([]);
  });

  it("can be made again and again, and an answer by the question's id is taken each time", async () => {
    const id = await waitingOrder();
    const { checkpoint_id, messages } = await call.create(id);
    const question = (messages.approve?.[0]?.requests as { id: string }[] | undefined)?.[0];
    for (const word of ["one", "two", "three"]) {
      await call.restore(id, checkpoint_id);
      const values = await answer(id, { [question?.id ?? ""]: word });
      expect(values).toMatchObject({ status: `${word}, shipped` });
    }
  });

  it("into the middle of parallel tasks runs those that were not done, and no other", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const gate = randomUUID();
    const run = await heddle.client.runs.create(thread_id, "order", {
      input: { items: ["bolt", `gate ${gate}`] },
    });
    await gateReached(gate);
    await expect.poll(async () => (await call.create(thread_id)).messages.pick?.[0]?.is_done).toBe(true);
    const { checkpoint_id } = await call.create(thread_id);
    openGate(gate);
    await heddle.client.runs.join(thread_id, run.run_id);
    const { next } = await call.restore(thread_id, checkpoint_id);
    expect(next).toEqual(["pick"]);
    const values = await heddle.client.runs.wait(thread_id, "order", { input: null });
    expect(values).toMatchObject({ picked: ["bolt", `gate ${gate}`], status: "awaiting-approval" });
  });

  it("brings subgraphs back to where they were", async () => {
    const { thread_id } = await heddle.client.threads.create();
    await heddle.client.runs.wait(thread_id, "nested", { input: { log: [] } });
    const made = await call.create(thread_id);
    expect(made.executor_states).toEqual({ middle: { log: ["before"] } });
    await answer(thread_id, "yes", "nested");
    await call.restore(thread_id, made.checkpoint_id);
    expect(await answer(thread_id, "no", "nested")).toEqual({
      log: ["before", "before", "thought", "kept inside: no", "after"],
    });
  });

  it("of an earlier state runs its tasks anew: what a person has answered since can be answered otherwise", async () => {
    const id = await waitingOrder();
    const { checkpoint } = await heddle.client.threads.getState(id);
    await answer(id, "yes");
    const made = await call.create(id, { langgraph_checkpoint_id: checkpoint.checkpoint_id });
    expect(made.messages.approve).toMatchObject([{ is_done: false, requests: [] }]);
    for (const new_thread of [true, false]) {
      const restored = await call.restore(id, made.checkpoint_id, { new_thread });
      expect(restored.next).toEqual(["approve"]);
      expect(await answer(restored.thread_id, "no")).toMatchObject({ status: "no, shipped" });
    }
  });

  it("of an earlier state begins its subgraphs anew", async () => {
    const { thread_id } = await heddle.client.threads.create();
    await heddle.client.runs.wait(thread_id, "nested", { input: { log: [] } });
    const { checkpoint } = await heddle.client.threads.getState(thread_id);
    await answer(thread_id, "yes", "nested");
    const made = await call.create(thread_id, { langgraph_checkpoint_id: checkpoint.checkpoint_id });
    expect(made.executor_states).toEqual({});
    for (const new_thread of [true, false]) {
      const restored = await call.restore(thread_id, made.checkpoint_id, { new_thread });
      const asked = await heddle.client.runs.wait(restored.thread_id, "nested", { input: null });
      expect(asked).toMatchObject({ __interrupt__: [{ value: "really?" }] });
      expect(await answer(restored.thread_id, "no", "nested")).toEqual({
        log: ["before", "before", "thought", "kept inside: no", "after"],
      });
    }
  });

  it("to before a subgraph had begun begins it anew", async () => {
    const { thread_id } = await heddle.client.threads.create();
    await heddle.client.runs.wait(thread_id, "nested", { input: { log: [] }, interruptBefore: ["middle"] });
    const { checkpoint_id } = await call.create(thread_id);
    await heddle.client.runs.wait(thread_id, "nested", { input: null });
    await call.restore(thread_id, checkpoint_id);
    const asked = await heddle.client.runs.wait(thread_id, "nested", { input: null });
    expect(asked).toMatchObject({ __interrupt__: [{ value: "really?" }] });
    expect(await answer(thread_id, "yes", "nested")).toEqual({
      log: ["before", "before", "thought", "kept inside: yes", "after"],
    });
  });

  it("brings back a state whose channel is made from earlier writes, also where these are gone", async () => {
    const { thread_id } = await heddle.client.threads.create();
    for (const topic of ["a", "b", "c"])
      await heddle.client.runs.wait(thread_id, "delta", { input: { topic } });
    const { checkpoint_id, shared_state } = await call.create(thread_id);
    await heddle.client.runs.wait(thread_id, "delta", { input: { topic: "d" } });
    const copy = await call.restore(thread_id, checkpoint_id, { new_thread: true });
    expect((await heddle.client.threads.getState(copy.thread_id)).values).toEqual(shared_state);
    const values = await heddle.client.runs.wait(copy.thread_id, "delta", { input: { topic: "e" } });
    expect(values).toMatchObject({ log: [...(shared_state.log as string[]), "3 e"] });
  });

  it("on a new thread leaves the old one as it is", async () => {
    const id = await waitingOrder();
    const { checkpoint_id } = await call.create(id);
    await answer(id, "yes");
    const before = await heddle.client.threads.getHistory(id);
    const newId = randomUUID();
    const restored = await call.restore(id, checkpoint_id, { new_thread: newId, metadata: { copied: true } });
    expect(restored).toMatchObject({ thread_id: newId, next: ["approve"] });
    expect(await heddle.client.threads.get(newId)).toMatchObject({
      status: "interrupted",
      metadata: { copied: true, graph_id: "order" },
    });
    expect(await answer(newId, "no")).toMatchObject({ status: "no, shipped" });
    expect(await heddle.client.threads.getHistory(id)).toEqual(before);
    const again = await call.send("POST", `/threads/${id}/checkpoints/${checkpoint_id}/restore`, {
      new_thread: newId,
    });
    expect(again).toMatchObject({ status: 409, body: { error: { code: "thread_exists" } } });
  });

  it("while a run is running is refused, and changes nothing", async () => {
    const id = await waitingOrder();
    const { checkpoint_id } = await call.create(id);
    const gate = randomUUID();
    const run = await heddle.client.runs.create(id, "order", { input: { items: [`gate ${gate}`] } });
    await gateReached(gate);
    const refused = await call.send("POST", `/threads/${id}/checkpoints/${checkpoint_id}/restore`);
    expect(refused).toMatchObject({ status: 409, body: { error: { code: "thread_busy" } } });
    openGate(gate);
    await heddle.client.runs.join(id, run.run_id);
    expect((await heddle.client.threads.getState(id)).values).toMatchObject({ items: [`gate ${gate}`] });
  });
});

describe("a graph that has changed since", () => {
  it("does not take the checkpoint: the answer names the executors that differ, and nothing is changed", async () => {
    const id = await waitingOrder();
    const { checkpoint_id, topology } = await call.create(id);
    const changed = await startApp({ graphs: fixture("renamed.langgraph.json"), beside: heddle });
    const refused = await createCaller(changed.url).send(
      "POST",
      `/threads/${id}/checkpoints/${checkpoint_id}/restore`,
    );
    await changed.close();
    expect(refused.status).toBe(409);
    expect(refused.body.error).toMatchObject({
      code: "topology_mismatch",
      message: expect.stringContaining("these executors differ: approve, confirm, prepare."),
      details: {
        missing: ["approve"],
        added: ["confirm"],
        changed: ["prepare"],
        stored_version: topology.version,
      },
    });
    expect(await answer(id, "yes")).toMatchObject({ status: "yes, shipped" });
  });

  it("takes it where the project says what has become of them: the task begins anew, its own state goes along", async () => {
    const id = await waitingOrder();
    const { checkpoint_id } = await call.create(id);
    const changed = await startApp({ graphs: fixture("migrated.langgraph.json"), beside: heddle });
    const restored = await createCaller(changed.url).restore(id, checkpoint_id);
    expect(restored.next).toEqual(["confirm"]);
    const asked = await changed.client.runs.wait(id, "order", { input: null });
    expect(asked).toMatchObject({ __interrupt__: [{ value: { picked: ["bolt", "nut"] } }] });
    expect(await changed.client.runs.wait(id, "order", { command: { resume: "yes" } })).toMatchObject({
      status: "yes, shipped",
      confirm_state: { asked: 2 },
    });
    await changed.close();
  });
});

describe("a bad request", () => {
  it("for a checkpoint, thread or storage that is not there says which, and changes nothing", async () => {
    const id = await waitingOrder();
    const other = await waitingOrder();
    const { checkpoint_id } = await call.create(other);
    const before = await heddle.client.threads.getHistory(id);
    const missing = randomUUID();
    const restore = (thread: string, checkpoint: string, body?: object) =>
      call.send("POST", `/threads/${thread}/checkpoints/${checkpoint}/restore`, body);
    // Another thread's is none of this one's.
    for (const asked of [missing, checkpoint_id]) {
      expect(await restore(id, asked)).toMatchObject({
        status: 404,
        body: { error: { code: "checkpoint_not_found", message: `Checkpoint ${asked} not found` } },
      });
    }
    expect(await restore(missing, checkpoint_id)).toMatchObject({
      status: 404,
      body: { error: { code: "thread_not_found" } },
    });
    expect(await restore(id, "not-a-uuid")).toMatchObject({ status: 422 });
    expect(await restore(other, checkpoint_id, { storage: "floppy" })).toMatchObject({
      status: 422,
      body: {
        error: {
          code: "unknown_storage",
          message: 'There is no storage "floppy" for checkpoints; there is postgres, memory.',
        },
      },
    });
    expect(
      await call.send("POST", `/threads/${id}/checkpoints`, { langgraph_checkpoint_id: missing }),
    ).toMatchObject({
      status: 404,
      body: { error: { code: "checkpoint_not_found" } },
    });
    expect(await call.send("GET", `/threads/${id}/checkpoints?workflow_id=%00`)).toMatchObject({
      status: 422,
      body: { error: { code: "invalid_request" } },
    });
    const { thread_id: empty } = await heddle.client.threads.create();
    expect(await call.send("POST", `/threads/${empty}/checkpoints`)).toMatchObject({
      status: 400,
      body: { error: { code: "thread_has_no_graph" } },
    });
    expect(await heddle.client.threads.getHistory(id)).toEqual(before);
  });
});
