// Faults of clients: they vanish, they do not read, they delete what is in use; and servers that die while they answer
// the rarer requests.
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { request, runClients, until } from "./client.ts";
import { startServers, workload } from "./faults.ts";
import type { Random } from "./random.ts";
import { readStream } from "./read-events.ts";
import type { Scenario } from "./scenarios.ts";
import type { Instance } from "./supervisor.ts";
import type { World } from "./world.ts";

interface Sent {
  readonly thread: string;
  readonly run: string;
}

/** Sends one turn to a server on a thread of its own, or on `thread`; notes it as acknowledged. */
async function send(
  world: World,
  key: string,
  words: string,
  { thread = randomUUID(), at, more = {} }: { thread?: string; at?: Instance; more?: object } = {},
): Promise<Sent> {
  const text = `${key} ${words}`;
  const sent = Date.now();
  const body = {
    assistant_id: "chat",
    input: { messages: [{ role: "user", content: text }] },
    metadata: { rig_key: key },
    multitask_strategy: "enqueue",
    if_not_exists: "create",
    ...more,
  };
  const { body: answer } = await until(world, world.random, (url) =>
    request(world, at?.url ?? url, `POST /threads/${thread}/runs`, body, { "idempotency-key": key }),
  );
  const { run_id: run } = JSON.parse(answer) as { run_id: string };
  world.history.add({ op: "create", key, thread, text, strategy: "enqueue", sent, outcome: "ok", run });
  return { thread, run };
}

/** What readers that do not read may cost: 64 MiB for two hundred; fewer are lost in what the server itself holds. */
const readersMiB = (count: number) => (64 / 200) * Math.max(count, 200);

const numbered = (count: number) => Array.from({ length: count }, (_, i) => i);

export const CLIENT_SCENARIOS: Readonly<Record<string, Scenario>> = {
  vanish: {
    about: "R17: clients vanish from their streams; their runs are cancelled, or go on, as they asked",
    async play(world) {
      await startServers(world, 2);
      await Promise.all(numbered(12 * world.times).map((i) => vanish(world, i, world.random.fork(`V${i}`))));
    },
  },
  stalled: {
    about: "R19: readers that read nothing cost little memory, and get all of it later",
    async play(world) {
      await startServers(world, 1, () => ({ env: { RIG_MEMORY: "1" } }));
      const [server] = world.servers.live();
      if (!server) throw new Error("no server");
      // Many small events: what a reader has not taken is in the log, and nowhere else.
      const { thread, run } = await send(world, "S#1", "ms=2000 chunks=4000 pad=3000000", {
        more: { stream_mode: ["messages-tuple"] },
      });
      const whole = await readStream(server.url, {
        thread,
        run,
        after: -1,
        cutAfter: Number.POSITIVE_INFINITY,
      });
      const bytes = whole.frames.reduce((sum, frame) => sum + frame.data.length, 0);
      const before = await heldBy(server);
      const readers = await Promise.all(numbered(40 * world.times).map(() => stall(server, thread, run)));
      const grown = (await heldBy(server)) - before;
      world.history.add({
        op: "measure",
        what: `MiB for ${readers.length} readers that do not read ${Math.round(bytes / 2 ** 20)} MiB`,
        value: Math.round(grown / 2 ** 20),
        limit: readersMiB(readers.length),
      });
      const got = await Promise.all(readers.map((finish) => finish()));
      world.history.add({
        op: "measure",
        what: "stalled readers that did not get all",
        value: got.filter((ids) => ids !== whole.frames.length).length,
        limit: 0,
      });
    },
  },
  deletes: {
    about: "R34: threads are deleted while they run and are read",
    async play(world) {
      await startServers(world, 3);
      const one = async (i: number) => {
        const random = world.random.fork(`D${i}`);
        const { thread, run } = await send(world, `D${i}#1`, "ms=1500 chunks=30");
        const cutAfter = Number.POSITIVE_INFINITY;
        const reading = readStream(random.pick(world.servers.live()).url, {
          thread,
          run,
          after: -1,
          cutAfter,
        });
        await delay(random.whole(0, 1_200));
        const answer = await until(world, random, (url) => request(world, url, `DELETE /threads/${thread}`));
        world.history.add({ op: "delete", thread, outcome: answer.status === 204 ? "ok" : "info" });
        await reading;
        const after = await until(world, random, (url) => request(world, url, `GET /threads/${thread}`));
        world.history.add({
          op: "measure",
          what: `${thread} is there`,
          value: after.status === 404 ? 0 : 1,
          limit: 0,
        });
      };
      await Promise.all([
        runClients(world, workload({ threads: 4, turns: 3 * world.times })),
        ...numbered(12 * world.times).map(one),
      ]);
    },
  },
  "crash-rarely": {
    about: "R24 R33 R34: servers are killed while they delete, update, or give a run back",
    isLong: true,
    async play(world) {
      await startServers(world, 2);
      for (let round = 0; round < world.times; round++) {
        const points = ["deleting-thread", "updating-state", "before-release", "after-release"];
        await Promise.all(points.map((point) => crashAt(world, point, round)));
      }
    },
  },
};

async function vanish(world: World, index: number, random: Random): Promise<void> {
  const key = `V${index}#1`;
  const cancels = random.chance(0.5);
  const words = cancels ? "ms=8000 chunks=80 pad=800" : "ms=700 chunks=20";
  const text = `${key} ${words}`;
  const thread = randomUUID();
  const sent = Date.now();
  const server = random.pick(world.servers.live());
  const gone = new AbortController();
  const response = await fetch(`${server.url}/threads/${thread}/runs/stream`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    signal: gone.signal,
    body: JSON.stringify({
      assistant_id: "chat",
      input: { messages: [{ role: "user", content: text }] },
      metadata: { rig_key: key },
      if_not_exists: "create",
      stream_mode: ["messages-tuple", "values"],
      on_disconnect: cancels ? "cancel" : "continue",
    }),
  });
  const run = response.headers.get("content-location")?.split("/").at(-1) ?? "";
  world.history.add({ op: "create", key, thread, text, strategy: "reject", sent, outcome: "ok", run });
  await delay(random.whole(0, 500));
  gone.abort();
  if (cancels) world.history.add({ op: "cancel", thread, run, action: "interrupt", outcome: "ok" });
}

/** A reader over a bare socket that takes nothing. The returned function reads on, and says how many events came. */
async function stall(server: Instance, thread: string, run: string): Promise<() => Promise<number>> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.pause();
  socket.write(
    `GET /threads/${thread}/runs/${run}/stream HTTP/1.1\r\nhost: ${hostname}\r\nlast-event-id: -1\r\nconnection: close\r\n\r\n`,
  );
  return async () => {
    let events = 0;
    let rest = "";
    for await (const chunk of socket.setEncoding("utf8") as AsyncIterable<string>) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      events += lines.filter((line) => /^id: \d+\r?$/.test(line)).length;
    }
    return events;
  };
}

/** Bytes that the server holds, once it holds no more than before. */
async function heldBy(server: Instance): Promise<number> {
  const ask = async () => {
    const answers = () => [...server.log().matchAll(/rig: holds (\d+) bytes/g)];
    const before = answers().length;
    process.kill(server.pid, "SIGUSR2");
    while (answers().length === before) await delay(20);
    return Number(answers().at(-1)?.[1]);
  };
  for (let last = await ask(); ; ) {
    await delay(700);
    const held = await ask();
    if (Math.abs(held - last) < 2 ** 20) return held;
    last = held;
  }
}

async function crashAt(world: World, point: string, round: number): Promise<void> {
  const victim = await world.servers.start(`${point}${round}`, { crash: `${point}@1` });
  const key = `C${point.replaceAll("-", "")}${round}#1`;
  if (point.endsWith("release")) {
    // It runs what is sent to it, and is told to stop meanwhile.
    await send(world, key, "ms=2500", { at: victim });
    await delay(300);
    await victim.term();
  } else {
    const { thread, run } = await send(world, key, "ms=50");
    await readStream(victim.url, { thread, run, after: -1, cutAfter: Number.POSITIVE_INFINITY });
    if (point === "deleting-thread") await request(world, victim.url, `DELETE /threads/${thread}`);
    else await request(world, victim.url, `POST /threads/${thread}/state`, { values: { messages: [] } });
  }
  await victim.ended;
  const isReached = world.history.entries.some(
    (entry) => entry.op === "exit" && entry.pid === victim.pid && entry.how === "SIGKILL",
  );
  world.history.add({ op: "measure", what: `${point}: not reached`, value: isReached ? 0 : 1, limit: 0 });
}
