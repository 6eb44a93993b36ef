// A run's stream is the same bytes to whoever reads it, whenever, from wherever in it, though the log does not hold the
// states that it shows.
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { human } from "../helpers/sdk.ts";
import { takeOver } from "../helpers/take-over.ts";

let heddle: TestApp;
/** Another instance, which runs nothing. */
let other: TestApp;
beforeAll(async () => {
  heddle = await startApp();
  other = await startApp({ beside: heddle, env: { WORKERS: "0" } });
});
afterAll(async () => {
  await other.close();
  await heddle.close();
});

interface Streamed {
  readonly threadId: string;
  readonly runId: string;
  readonly text: string;
}

const withoutHeartbeats = (text: string) => text.replaceAll(": heartbeat\n\n", "");

async function run(threadId: string, body: object): Promise<Streamed> {
  const response = await fetch(`${heddle.url}/threads/${threadId}/runs/stream`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ stream_mode: ["values", "updates", "messages-tuple"], ...body }),
  });
  const runId = response.headers.get("content-location")?.split("/").at(-1) ?? "";
  return { threadId, runId, text: withoutHeartbeats(await response.text()) };
}

async function replay({ url }: TestApp, { threadId, runId }: Streamed, lastEventId: string): Promise<string> {
  const response = await fetch(`${url}/threads/${threadId}/runs/${runId}/stream`, {
    headers: { "last-event-id": lastEventId },
  });
  expect(response.status).toBe(200);
  return withoutHeartbeats(await response.text());
}

const frames = (text: string) => text.split(/(?<=\n\n)/);

async function expectSameBytes(streamed: Streamed): Promise<void> {
  expect(streamed.text).not.toContain("StateLost");
  expect(await replay(heddle, streamed, "-1")).toBe(streamed.text);
  expect(await replay(other, streamed, "-1")).toBe(streamed.text);
  const all = frames(streamed.text);
  for (const index of all.keys()) {
    expect(await replay(other, streamed, String(index))).toBe(all.slice(index + 1).join(""));
  }
}

const stored = ({ runId }: Streamed) =>
  heddle.database.db.query<{ event: string; data: string; is_pointer: boolean }>(
    "select event, data, is_pointer from heddle.run_events where run_id = $1::uuid order by seq",
    [runId],
  );
const bytes = async (streamed: Streamed) =>
  (await stored(streamed)).reduce((sum, row) => sum + row.event.length + row.data.length, 0);

describe("the log of a run", () => {
  it("does not grow with its thread", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const sizes: number[] = [];
    const sent: number[] = [];
    for (let turn = 0; turn < 60; turn++) {
      const streamed = await run(thread_id, {
        assistant_id: "script",
        input: human(`do ${String(turn).padStart(3, "0")} ${"x".repeat(2_000)}`),
      });
      sizes.push(await bytes(streamed));
      sent.push(streamed.text.length);
      if (turn === 59) await expectSameBytes(streamed);
    }
    // What is left is the number of digits and of elements.
    expect(Math.abs((sizes[59] ?? 0) - (sizes[4] ?? 0))).toBeLessThan(64);
    expect(sent[59]).toBeGreaterThan((sent[4] ?? 0) * 5);
  });

  it("does not grow with its thread when each turn stops at an interrupt, with a branch that has ended", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const sizes: number[] = [];
    for (let turn = 0; turn < 12; turn++) {
      const asked = await run(thread_id, {
        assistant_id: "shapes",
        input: { plan: ["say", "ask", "object", "fan"], at: 0 },
      });
      const first = await run(thread_id, { assistant_id: "shapes", command: { resume: "yes" } });
      const second = await run(thread_id, {
        assistant_id: "shapes",
        command: { resume: "yes", update: { plain: { turn } } },
      });
      await expectSameBytes(second);
      sizes.push((await bytes(asked)) + (await bytes(first)) + (await bytes(second)));
    }
    expect(Math.abs((sizes[11] ?? 0) - (sizes[3] ?? 0))).toBeLessThan(128);
  });

  it("has a state as it is where its checkpoint will not give it back so", async () => {
    const { thread_id } = await heddle.client.threads.create();
    await run(thread_id, { assistant_id: "shapes", input: { plan: ["say", "object", "say"], at: 0 } });
    const streamed = await run(thread_id, {
      assistant_id: "shapes",
      input: { plan: ["odd", "mutate", "say", "mutate more", "say"], at: 0 },
    });
    await expectSameBytes(streamed);
    const states = (await stored(streamed)).filter((row) => row.event === "values");
    expect(states.every((row) => row.is_pointer)).toBe(true);
    // The second state may or may not have been rendered before the node changed it.
    const changed = states.map((row) => row.data.includes("changed in place"));
    expect(changed).toEqual([false, changed[1], true, true, true, true]);
  });

  describe("when the checkpoint of a state is not there any more as it was", () => {
    const LOST = /^event: error\ndata: {"error":"StateLost","message":".+"}\nid: 2\n\n$/;
    const streamed = async () => {
      const { thread_id } = await heddle.client.threads.create();
      const input = human(`say ${"x".repeat(600)}`);
      return run(thread_id, { assistant_id: "script", input, stream_mode: "values" });
    };

    it("says so in the place of the state, and shows the others", async () => {
      const run = await streamed();
      const { checkpoint } = await heddle.client.threads.getState(run.threadId);
      await heddle.database.db.query("delete from heddle.checkpoints where checkpoint_id = $1::text", [
        checkpoint?.checkpoint_id,
      ]);
      const again = frames(await replay(heddle, run, "-1"));
      expect(again.slice(0, -1)).toEqual(frames(run.text).slice(0, -1));
      expect(again.at(-1)).toMatch(LOST);
      // The result is then the thread's state, as it is now.
      expect(await heddle.client.runs.join(run.threadId, run.runId)).toMatchObject({
        messages: [{ type: "human" }, { type: "ai" }],
      });
    });

    it.each([
      ["cannot be read", "'x'"],
      ["is another", `'[{"lc":1}]'`],
    ])("says so when what is stored %s", async (_, blob) => {
      const run = await streamed();
      await heddle.database.db.query(
        `update heddle.checkpoint_blobs set blob = ${blob} where thread_id = $1::text and channel = 'messages'`,
        [run.threadId],
      );
      expect(frames(await replay(heddle, run, "-1")).at(-1)).toMatch(LOST);
      expect((await heddle.client.runs.get(run.threadId, run.runId)).status).toBe("success");
    });
  });
});

describe("a stream", () => {
  it("is the same bytes to every reader, whatever the graph does to its state", {
    timeout: 240_000,
  }, async () => {
    const act = fc.constantFrom(
      ...[
        "say",
        "nameless",
        "object",
        "odd",
        "class",
        "date",
        "lc",
        "artifact",
        "remove",
        "clear",
        "replace",
      ],
      ...["mutate", "mutate more", "ask", "child", "fan"],
    );
    const turns = fc.array(
      fc.record({
        plan: fc.array(act, { minLength: 1, maxLength: 6 }),
        stream_subgraphs: fc.boolean(),
        update: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    );
    await fc.assert(
      fc.asyncProperty(turns, async (planned) => {
        const { thread_id } = await heddle.client.threads.create();
        for (const { plan, stream_subgraphs, update } of planned) {
          const input = { plan, at: 0, messages: [{ role: "user", content: `do it ${"x".repeat(600)}` }] };
          let streamed = await run(thread_id, { assistant_id: "shapes", input, stream_subgraphs });
          await expectSameBytes(streamed);
          while ((await heddle.client.threads.get(thread_id)).status === "interrupted") {
            const command = {
              resume: "yes",
              ...(update ? { update: { plain: { updated: "x".repeat(600) } } } : {}),
            };
            streamed = await run(thread_id, { assistant_id: "shapes", command, stream_subgraphs });
            await expectSameBytes(streamed);
          }
        }
      }),
      { numRuns: 25 },
    );
  });

  it("is the same bytes when two workers have had the run, and says where the second one began", async () => {
    const { thread_id: threadId } = await heddle.client.threads.create();
    const { run_id: runId } = await heddle.client.runs.create(threadId, "script", {
      input: {
        messages: [human("x".repeat(2_000)), human("wait takeover")].flatMap(({ messages }) => messages),
      },
      streamMode: ["values", "updates"],
    });
    const reading = replay(heddle, { threadId, runId, text: "" }, "-1");
    await gateReached("takeover");
    await takeOver(heddle, runId);
    openGate("takeover");
    const streamed = { threadId, runId, text: await reading };
    await expectSameBytes(streamed);
    expect([...streamed.text.matchAll(/^event: (.*)$/gm)].map(([, event]) => event)).toEqual([
      "metadata",
      "values",
      "metadata",
      "values",
      "updates",
      "values",
    ]);
    expect([...streamed.text.matchAll(/^id: (.*)$/gm)].map(([, id]) => Number(id))).toEqual([
      0, 1, 2, 3, 4, 5,
    ]);
    const states = (await stored(streamed)).filter((row) => row.event === "values");
    expect(states.every((row) => row.is_pointer)).toBe(true);
  });
});
