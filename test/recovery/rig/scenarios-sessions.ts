// What outlives a run while servers are killed: what its session keeps of it, and its named checkpoints.
import { setTimeout as delay } from "node:timers/promises";
import { v5 as uuidOf } from "uuid";
import { createRun, pickServer, readStatus, request, TERMINAL, until } from "./client.ts";
import { during, pickLive, replace, startServers } from "./faults.ts";
import type { StateMessage } from "./history.ts";
import type { Random } from "./random.ts";
import type { Scenario } from "./scenarios.ts";
import type { StartOptions } from "./supervisor.ts";
import type { World } from "./world.ts";

const SESSIONS = ["T0", "T1", "T2", "T3"] as const;

export const SESSION_SCENARIOS: Readonly<Record<string, Scenario>> = {
  sessions: {
    about: "servers are killed while runs go on with their sessions, and while checkpoints are made of them",
    async play(world) {
      // A run keeps its messages once, and makes a checkpoint of each step.
      const crash = (): StartOptions => ({
        crash: world.random.chance(0.5)
          ? `session-kept@${world.random.whole(1, 2)}`
          : `${world.random.pick(["checkpoint-taken", "checkpoint-saved"])}@${world.random.whole(1, 12)}`,
      });
      await startServers(world, 3, (i) => (i === 0 ? {} : crash()));
      await during(Promise.all(SESSIONS.map((session) => converse(world, session))), async () => {
        await delay(world.random.whole(300, 1_200));
        if (world.random.chance(0.3)) await pickLive(world)?.kill();
        if (world.servers.live().length < 3) await replace(world, crash());
      });
      await replace(world);
      await Promise.all(SESSIONS.map((session) => readSession(world, session)));
      await restoreAll(world);
    },
  },
};

/** One turn after the other, each on a thread of its own. */
async function converse(world: World, session: string): Promise<void> {
  const random = world.random.fork(session);
  for (let turn = 1; turn <= 3 * world.times; turn++) {
    const key = `${session}#${turn}`;
    const thread = uuidOf(key, uuidOf.URL);
    const text = `${key} ms=${random.whole(50, 300)}${random.chance(0.5) ? " tool" : ""}`;
    const frequency = { every_steps: 1, keep: 1_000 };
    const more = {
      assistant_id: "session",
      if_not_exists: "create",
      config: { configurable: { session_id: session, checkpoint_frequency: frequency } },
    };
    const run = await createRun(world, random, { thread, key, text, strategy: "enqueue", session, more });
    if (run === undefined) throw new Error(`${key} was refused`);
    while (!TERMINAL.has((await readStatus(world, random, thread, run)) ?? "")) {
      await makeCheckpoint(world, random, thread);
      await delay(random.whole(0, 200));
    }
    await readSteps(world, random, thread, run);
  }
}

/** Is asked for once. A thread that has no state yet has none to make. */
async function makeCheckpoint(world: World, random: Random, thread: string): Promise<void> {
  const url = pickServer(world, random);
  const answer = url && (await request(world, url, `POST /threads/${thread}/checkpoints`, {}));
  if (answer && answer.status === 200) noteCheckpoint(world, thread, answer.body);
}

const noteCheckpoint = (world: World, thread: string, view: string) =>
  world.history.add({
    op: "checkpoint",
    thread,
    id: (JSON.parse(view) as { checkpoint_id: string }).checkpoint_id,
    view,
  });

/** The checkpoints that the run has made by itself. */
async function readSteps(world: World, random: Random, thread: string, run: string): Promise<void> {
  const get = async (path: string) => {
    const { body } = await until(world, random, (url) =>
      request(world, url, `GET /threads/${thread}${path}`),
    );
    return body;
  };
  const all = JSON.parse(await get("/checkpoints?limit=1000")) as {
    checkpoint_id: string;
    trigger: string;
    iteration_count: number;
  }[];
  const own = all.filter(({ trigger }) => trigger === "steps");
  for (const { checkpoint_id } of own)
    noteCheckpoint(world, thread, await get(`/checkpoints/${checkpoint_id}`));
  const { metadata } = JSON.parse(await get("/state")) as { metadata: { step: number } };
  const saved = own.map(({ iteration_count }) => iteration_count).toSorted((a, b) => a - b);
  world.history.add({ op: "steps", run, saved, last: metadata.step });
}

async function readSession(world: World, session: string): Promise<void> {
  const { status, body } = await until(world, world.random, (url) =>
    request(world, url, `GET /sessions/${session}`),
  );
  const { chat_message_store_state: state } = JSON.parse(body) as {
    chat_message_store_state: { messages: { type: string; data: { content: string } }[] };
  };
  const messages =
    status === 404 ? [] : state.messages.map(({ type, data }) => ({ type, content: data.content }));
  world.history.add({ op: "session", session, messages });
}

async function restoreAll(world: World): Promise<void> {
  const waiting = world.history.entries.flatMap((entry) => (entry.op === "checkpoint" ? [entry] : []));
  const ask = (what: string, body?: object) =>
    until(world, world.random, (url) => request(world, url, what, body));
  const restoreNext = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      const { thread, id } = next;
      const { body: view } = await ask(`GET /threads/${thread}/checkpoints/${id}`);
      const made = await ask(`POST /threads/${thread}/checkpoints/${id}/restore`, { new_thread: true });
      world.history.add({ op: "restored", id, view, messages: await readMessages(made.body) });
    }
  };
  const readMessages = async (body: string): Promise<readonly StateMessage[] | null> => {
    const { thread_id } = JSON.parse(body) as { thread_id?: string };
    if (thread_id === undefined) return null;
    const state = await ask(`GET /threads/${thread_id}/state`);
    const { values } = JSON.parse(state.body) as { values: { messages?: StateMessage[] } };
    return values.messages ?? [];
  };
  await Promise.all([restoreNext(), restoreNext(), restoreNext()]);
}
