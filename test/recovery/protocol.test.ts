// The thread protocol over servers that stop, die and lose their runs: no gap, no duplicate, the same ids.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { endOf, type FrameStream, openStream, postCommand, type WireFrame } from "../helpers/protocol.ts";
import { human } from "../helpers/sdk.ts";
import { takeOver } from "../helpers/take-over.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/protocol/langgraph.json");
const words = (...list: string[]) => ({ words: list });

/** Owns the database, and runs nothing. */
let ground: TestApp;
beforeAll(async () => {
  ground = await startApp({ graphs, env: { WORKERS: "0" } });
});
afterAll(() => ground.close());

const startServer = () => startApp({ beside: ground, graphs });
const start = (app: TestApp, threadId: string, assistant_id: string, input: unknown) =>
  postCommand(app.url, threadId, "run.start", { assistant_id, input });

async function read(app: TestApp, threadId: string, runs: number, body = {}): Promise<WireFrame[]> {
  const stream = await openStream(app.url, threadId, body);
  const frames = await stream.until(endOf(runs));
  stream.close();
  return frames;
}

const isCustom = ({ method }: WireFrame) => method === "custom";

describe("a stream", () => {
  it("goes on at another server after its own has stopped in the middle of the run", async () => {
    const threadId = crypto.randomUUID();
    const first = await startServer();
    const gate = crypto.randomUUID();
    const live = await openStream(first.url, threadId);
    await start(first, threadId, "waits", { ...words("in"), gate });
    await live.until(isCustom);
    await gateReached(gate);
    // Another server's reader stays through all of it.
    const elsewhere = await openStream(ground.url, threadId);
    await elsewhere.until(isCustom);
    await first.close();
    await expect(live.until(endOf(1))).rejects.toThrow("the stream has ended");

    openGate(gate);
    const second = await startServer();
    const since = live.frames.at(-1)?.seq ?? 0;
    const rest = await read(second, threadId, 1, { since });
    const all = await read(second, threadId, 1);
    expect([...live.frames, ...rest]).toEqual(all);
    expect(all.at(-1)?.params.data.event).toBe("completed");
    expect((await elsewhere.until(endOf(1))) as unknown).toEqual(all);
    elsewhere.close();

    await start(second, threadId, "waits", { ...words("more"), gate });
    const both = await read(second, threadId, 2);
    expect(both.slice(0, all.length)).toEqual(all);
    expect(both.every(({ seq }, place) => place === 0 || seq > (both[place - 1]?.seq ?? 0))).toBe(true);
    await second.close();
  });

  it("tells that a message was cut off when another worker begins it again", async () => {
    const threadId = crypto.randomUUID();
    const [first, second] = [await startServer(), await startServer()];
    const gate = crypto.randomUUID();
    const stream: FrameStream = await openStream(first.url, threadId);
    const { result } = await start(first, threadId, "mumbles", human(gate));
    await stream.until(({ params }) => params.data.delta?.text === "three");
    await takeOver(ground, result.run_id);
    openGate(gate);
    const frames = await stream.until(endOf(1));
    stream.close();
    const data = frames.filter(({ method }) => method === "messages").map(({ params }) => params.data);
    const ids = [...new Set(data.map(({ run_id }) => run_id))];
    expect(ids).toHaveLength(2);
    const last = ids.map((id) => data.findLast(({ run_id }) => run_id === id));
    expect(last.map(({ event, code }) => [event, code])).toEqual([
      ["error", "aborted"],
      ["message-finish", undefined],
    ]);
    expect(frames.filter(({ event_id }) => event_id.startsWith("synth:"))).toHaveLength(2);
    expect(await read(second, threadId, 1)).toEqual(frames);
    await first.close();
    await second.close();
  });

  it("hears of a run of another server within a moment, without wake-ups as well", async () => {
    const threadId = crypto.randomUUID();
    const stream = await openStream(ground.url, threadId);
    const server = await startServer();
    await start(server, threadId, "writes", words("in"));
    await stream.until(endOf(1));
    stream.close();
    await server.close();
  });
});

describe("an interrupt", () => {
  it("is answered after all servers have been restarted", async () => {
    const threadId = crypto.randomUUID();
    const first = await startServer();
    await start(first, threadId, "asks", words("in"));
    const frames = await read(first, threadId, 1);
    await first.close();

    const second = await startServer();
    const request = frames.find(({ method }) => method === "input.requested");
    const { interrupt_id } = request?.params.data ?? {};
    const answer = await postCommand(second.url, threadId, "input.respond", {
      interrupt_id,
      response: "late",
    });
    expect(answer).toMatchObject({ type: "success", result: {} });
    const all = await read(second, threadId, 2);
    expect(all.slice(0, frames.length)).toEqual(frames);
    const values = all.findLast(({ method, params }) => method === "values" && params.namespace.length === 0);
    expect(values?.params.data.words).toContain("answered late");
    await second.close();
  });
});

describe("states that are lost", () => {
  it("leave the other frames their numbers", async () => {
    const threadId = crypto.randomUUID();
    const server = await startServer();
    const long = "x".repeat(2_000);
    await start(server, threadId, "waits", { ...words(long), gate: "open" });
    openGate("open");
    const before = await read(server, threadId, 1);
    await ground.database.db.query("delete from heddle.checkpoints where thread_id = $1", [threadId]);
    const after = await read(server, threadId, 1);
    const kept = before.filter(({ event_id }) => after.some((frame) => frame.event_id === event_id));
    expect(after).toEqual(kept);
    expect(before.length).toBeGreaterThan(after.length);
    const lost = before.filter((frame) => !kept.includes(frame)).map(({ method }) => method);
    expect([...new Set(lost)].sort()).toEqual(["tasks", "values"]);
    await server.close();
  });
});
