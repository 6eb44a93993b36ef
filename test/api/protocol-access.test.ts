// Whose threads the thread protocol shows: on every request and on every connection.
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { type Answer, endOf, openSocket, openStream, postCommand } from "../helpers/protocol.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/protocol/langgraph.json");
const ann = { "x-api-key": "ann-key-0123456789" };
const bob = { "x-api-key": "bob-key-0123456789" };

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs, env: { API_KEYS: `ann:${ann["x-api-key"]},bob:${bob["x-api-key"]}` } });
});
afterAll(() => heddle.close());

const run = (threadId: string, headers: Record<string, string>) =>
  postCommand(
    heddle.url,
    threadId,
    "run.start",
    { assistant_id: "writes", input: { words: ["in"] } },
    headers,
  );

async function runToEnd() {
  const threadId = crypto.randomUUID();
  const { result } = await run(threadId, ann);
  const stream = await openStream(heddle.url, threadId, {}, ann);
  await stream.until(endOf(1));
  stream.close();
  return { threadId, runId: result.run_id as string, frames: stream.frames };
}

it("needs credentials", async () => {
  const threadId = crypto.randomUUID();
  expect((await openStream(heddle.url, threadId)).response.status).toBe(401);
  const response = await fetch(`${heddle.url}/threads/${threadId}/commands`, { method: "POST" });
  expect(response.status).toBe(401);
  await expect(openSocket(heddle.url, threadId)).rejects.toThrow("the socket was not opened");
});

it("answers commands on somebody else's thread like those on none", async () => {
  const { threadId, runId } = await runToEnd();
  const nowhere = crypto.randomUUID();
  for (const [method, params] of [
    ["state.get", {}],
    ["state.listCheckpoints", {}],
    ["agent.getTree", {}],
    ["agent.getTree", { run_id: runId }],
    ["state.fork", { checkpoint_id: crypto.randomUUID() }],
    ["input.respond", { interrupt_id: "x", response: 1 }],
  ] as const) {
    const plain = async (id: string): Promise<Answer> => {
      const answer = await postCommand(heddle.url, id, method, params, bob);
      return { ...answer, message: answer.message.replaceAll(id, "<id>") };
    };
    const answer = await plain(threadId);
    expect(answer).toEqual(await plain(nowhere));
    expect(answer.type).toBe("error");
  }
  expect(await run(threadId, bob)).toMatchObject({ type: "error", error: "no_such_run" });
  expect((await postCommand(heddle.url, threadId, "state.get", {}, ann)).type).toBe("success");
});

it("streams nothing of somebody else's thread, from before it was there, or after", async () => {
  const threadId = crypto.randomUUID();
  const early = await openStream(heddle.url, threadId, {}, bob);
  const socket = await openSocket(heddle.url, threadId, bob);
  await socket.send("subscription.subscribe", { channels: ["values", "lifecycle"] });
  await run(threadId, ann);
  const stream = await openStream(heddle.url, threadId, {}, ann);
  await stream.until(endOf(1));
  stream.close();
  const late = await openStream(heddle.url, threadId, {}, bob);
  expect(late.response.status).toBe(200);
  // A look at the database later, all of them would have been told.
  const own = crypto.randomUUID();
  await socket.send("state.get");
  const watched = await openStream(heddle.url, own, {}, bob);
  await run(own, bob);
  await watched.until(endOf(1));
  watched.close();
  expect([early.frames, late.frames, socket.frames()]).toEqual([[], [], []]);
  for (const { close } of [early, late, socket]) close();
});

it("tells a socket no more of somebody else's thread than of none", async () => {
  const { threadId } = await runToEnd();
  const answers = await Promise.all(
    [threadId, crypto.randomUUID()].map(async (id) => {
      const socket = await openSocket(heddle.url, id, bob);
      const { result, meta } = await socket.send("subscription.subscribe", { channels: ["values"] });
      socket.close();
      return { replayed: result.replayed_events, through: meta.applied_through_seq };
    }),
  );
  expect(answers).toEqual([
    { replayed: 0, through: 0 },
    { replayed: 0, through: 0 },
  ]);
});

it("makes threads the caller's own", async () => {
  const { threadId } = await runToEnd();
  const thread = await fetch(`${heddle.url}/threads/${threadId}`, { headers: ann });
  expect(await thread.json()).toMatchObject({ thread_id: threadId, metadata: { owner: "ann" } });
});

it("lets no page connect whose origin may not call the API", async () => {
  const app = await startApp({ beside: heddle, graphs, env: { CORS_ORIGINS: "https://chat.example" } });
  const open = (origin: string) => openSocket(app.url, crypto.randomUUID(), { origin });
  await expect(open("https://evil.example")).rejects.toThrow("the socket was not opened");
  for (const origin of ["https://chat.example", app.url]) {
    const socket = await open(origin);
    expect((await socket.send("state.get")).error).toBe("no_such_run");
    socket.close();
  }
  await app.close();
});
