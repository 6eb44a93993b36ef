// What conversations promise while servers are killed and PostgreSQL crashes: to those who change them, and to those who
// follow what changes.
import { setTimeout as delay } from "node:timers/promises";
import { v5 as uuidOf } from "uuid";
import { PATIENCE_MS, pickServer, request, runClients, until } from "./client.ts";
import { during, pickLive, replace, startServers, untilServing, workload } from "./faults.ts";
import type { ConversationValues } from "./history.ts";
import type { Random } from "./random.ts";
import { readEvents } from "./read-events.ts";
import type { Scenario } from "./scenarios.ts";
import { crashPostgres } from "./scenarios-database.ts";
import type { StartOptions } from "./supervisor.ts";
import type { World } from "./world.ts";

const THREADS = 3;
/** The key that each writer of a conversation has for himself. */
const WRITERS = ["methodology", "currentHypothesis", "currentObjective", "conversationTitle"] as const;
const READERS = ["reader 1", "reader 2"] as const;

export const CONVERSATION_SCENARIOS: Readonly<Record<string, Scenario>> = {
  conversations: {
    about: "conversations are changed and followed on servers that are killed, on a PostgreSQL that crashes",
    ownPostgres: true,
    async play(world) {
      const crash = (): StartOptions =>
        world.random.chance(0.5) ? { crash: `patch-stored@${world.random.whole(1, 60)}` } : {};
      await startServers(world, 2);
      const threads = Array.from({ length: THREADS }, (_, i) => uuidOf(`T${i}`, uuidOf.URL));
      await Promise.all(threads.map((thread) => begin(world, thread)));
      const goals = new Map<string, number>();
      const following = Promise.all(
        threads.flatMap((thread) =>
          READERS.map((reader) => follow(world, { thread, reader }, () => goals.get(thread))),
        ),
      );
      // Heard at the end, with the others.
      following.catch(() => undefined);
      let isServer = world.random.chance(0.5);
      await during(
        Promise.all([work(world), ...threads.map((thread) => change(world, thread))]),
        async () => {
          await delay(world.random.whole(300, 1_000));
          if (isServer) await pickLive(world)?.kill();
          else {
            await crashPostgres(world);
            await untilServing(world);
          }
          isServer = !isServer;
          while (world.servers.live().length < 2) await replace(world, crash());
        },
      );
      await replace(world);
      for (const thread of threads) goals.set(thread, await readConversation(world, thread));
      await following;
    },
  },
};

/** Runs on the same threads: what happens to them is told as well. */
const work = (world: World) =>
  runClients(world, workload({ threads: THREADS, turns: 2 * world.times, directives: () => "ms=400" }));

/** From now on what happens is told. */
async function begin(world: World, thread: string): Promise<void> {
  await until(world, world.random, (url) =>
    request(world, url, "POST /threads", { thread_id: thread, if_exists: "do_nothing" }),
  );
  await patch(world, world.random, { thread, writer: "objective", text: "first" });
}

const change = async (world: World, thread: string) => {
  await Promise.all(
    WRITERS.map(async (writer) => {
      const random = world.random.fork(`${thread} ${writer}`);
      let seen: number | undefined;
      for (let n = 1; n <= 60 * world.times; n++) {
        const version = random.chance(0.2) ? seen : undefined;
        const made = await patch(world, random, { thread, writer, text: `${writer} ${n}`, version });
        seen = made ?? seen;
        // Most follow at once, so that writers of both servers meet.
        if (made === undefined || random.chance(0.1)) await delay(random.whole(50, 300));
      }
    }),
  );
};

/** Is sent once, whatever comes of it. The version that it has made, if the writer was told. */
async function patch(
  world: World,
  random: Random,
  {
    thread,
    writer,
    text,
    version,
  }: { thread: string; writer: string; text: string; version?: number | undefined },
): Promise<number | undefined> {
  const url = pickServer(world, random);
  if (!url) return undefined;
  const answer = await request(
    world,
    url,
    `PATCH /threads/${thread}/conversation`,
    { values: { keyInsights: [text], [writer]: text } },
    version === undefined ? {} : { "if-match": `"${version}"` },
  );
  const made = answer?.status === 200 ? (JSON.parse(answer.body) as { version: number }).version : undefined;
  const outcome = made !== undefined ? "ok" : answer?.status === 412 ? "fail" : "info";
  world.history.add({
    op: "patch",
    thread,
    writer,
    text,
    outcome,
    ...(made === undefined ? {} : { version: made }),
  });
  return made;
}

/** Over as many connections as it takes, until the notification that `goal` names. */
async function follow(
  world: World,
  { thread, reader }: { thread: string; reader: string },
  goal: () => number | undefined,
): Promise<void> {
  const random = world.random.fork(`${thread} ${reader}`);
  let after = 0;
  let end = Number.POSITIVE_INFINITY;
  for (;;) {
    const last = goal();
    if (last !== undefined && after >= last) return;
    if (last !== undefined) end = Math.min(end, Date.now() + PATIENCE_MS);
    if (Date.now() > end) throw new Error(`${reader} of ${thread} has ${after} of ${last} notifications`);
    const url = pickServer(world, random);
    const cutAfter = random.chance(0.5) ? random.whole(1, 4_000) : Number.POSITIVE_INFINITY;
    const how = { after, cutAfter, forMs: random.whole(200, 2_000) };
    const { frames } = url ? await readEvents(`${url}/threads/${thread}/notifications`, how) : { frames: [] };
    if (frames.length > 0) world.history.add({ op: "notified", thread, reader, after, frames });
    after = Number(frames.at(-1)?.id ?? after);
    await delay(random.whole(0, 100));
  }
}

/** The newest number of its notifications. */
async function readConversation(world: World, thread: string): Promise<number> {
  const ask = (url: string) => request(world, url, `GET /threads/${thread}/conversation`);
  const { body } = await until(world, world.random, ask);
  const { version, values } = JSON.parse(body) as { version: number; values: ConversationValues };
  const [row] = await world.db.query<{ last: number }>(
    `select last_notification::integer as last from heddle.conversation_states where conversation_id = $1::uuid`,
    [thread],
  );
  const last = row?.last ?? 0;
  world.history.add({ op: "conversation", thread, version, values, last });
  return last;
}
