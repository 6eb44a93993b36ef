// Faults of the network: answers that are lost, connections that fall silent, a Redis that comes, goes and lies.
import { setTimeout as delay } from "node:timers/promises";
import { runClients, type Workload } from "./client.ts";
import { during, startServers, workload } from "./faults.ts";
import { startProxy } from "./proxy.ts";
import { startRedis, whyNoRedis } from "./redis.ts";
import type { Scenario } from "./scenarios.ts";
import { LEASE_SECONDS, type World } from "./world.ts";

/** The world's database over another port. */
export function over(world: World, port: number): string {
  const url = new URL(world.databaseUrl);
  url.port = String(port);
  return url.href;
}

export const NETWORK_SCENARIOS: Readonly<Record<string, Scenario>> = {
  "lost-replies": {
    about: "R13: PostgreSQL does what it is told, and its answer is lost on the way",
    async play(world) {
      const proxy = await startProxy(world.postgres.port);
      try {
        await startServers(world, 2, () => ({ databaseUrl: over(world, proxy.port) }));
        const directives = () => `ms=${world.random.whole(50, 400)} chunks=10 tool`;
        await during(runClients(world, workload({ turns: 4 * world.times, directives })), async () => {
          await delay(world.random.whole(150, 600));
          const from = Date.now();
          // Anywhere in what is being said, or exactly where an event is stored and nobody hears of it.
          if (world.random.chance(0.5)) proxy.cutAfter(world.random.whole(1, 3_000));
          else proxy.loseAnswersTo("insert into heddle.run_events");
          await delay(world.random.whole(50, 300));
          proxy.heal();
          world.history.add({ op: "outage", from, to: Date.now() });
        });
      } finally {
        await world.servers.close();
        await proxy.close();
      }
    },
  },
  silence: {
    about: "R9: a server's connections to PostgreSQL fall silent for longer than its leases, LISTEN included",
    isLong: true,
    async play(world) {
      const proxy = await startProxy(world.postgres.port);
      try {
        await startServers(world, 3, (i) => (i === 0 ? { databaseUrl: over(world, proxy.port) } : {}));
        const directives = () => `ms=${world.random.whole(300, 1_500)} tool`;
        const work = runClients(world, workload({ threads: 6, turns: 3 * world.times, directives }));
        await during(work, async () => {
          await delay(world.random.whole(800, 2_000));
          const from = Date.now();
          proxy.swallow();
          await delay(LEASE_SECONDS * 1_000 + world.random.whole(500, 2_500));
          proxy.heal();
          world.history.add({ op: "outage", from, to: Date.now() });
        });
      } finally {
        await world.servers.close();
        await proxy.close();
      }
    },
  },
  redis: {
    about: "R14 R15: Redis is killed, emptied and paused, and sends wake-ups twice and for nothing",
    missing: whyNoRedis,
    async play(world) {
      const redis = await startRedis(world.custody);
      try {
        await startServers(world, 3, () => ({ env: { REDIS_URL: redis.url } }));
        const nobody = "00000000-0000-4000-8000-000000000000";
        const lies = [
          "queue queue queue",
          `run:${nobody} cancel:${nobody}`,
          "cancel:",
          "run:abc :: x",
          "FLUSHALL",
        ];
        await during(runClients(world, workload({ turns: 4 * world.times, cancel: 0.2 })), async () => {
          await delay(world.random.whole(50, 300));
          for (const lie of lies) await redis.command(lie === "FLUSHALL" ? lie : `PUBLISH heddle "${lie}"`);
          const fault = world.random.pick(["kill", "pause", "none"]);
          if (fault === "kill") {
            await redis.kill();
            await delay(world.random.whole(0, 1_000));
            await redis.start();
          } else if (fault === "pause") {
            redis.pause();
            await delay(world.random.whole(200, 2_000));
            redis.resume();
          }
        });
      } finally {
        await world.servers.close();
        await redis.kill();
      }
    },
  },
  alike: {
    about:
      "the same seed gives the same history without Redis, with it, and with one that is killed in the middle",
    isLong: true,
    missing: whyNoRedis,
    async play(world) {
      const redis = await startRedis(world.custody);
      try {
        const histories = new Map<string, string[]>();
        for (const group of ["none", "steady", "killed"]) {
          await startServers(world, 2, () => (group === "none" ? {} : { env: { REDIS_URL: redis.url } }));
          // Each answer in one piece: it names the group, and the hash of what was before it.
          const directives: Workload["directives"] = (random) =>
            `ms=${random.whole(20, 300)} chunks=1${random.chance(0.3) ? " tool" : ""}`;
          const own = { turns: 4 * world.times, group: group[0] ?? "", directives };
          const work = runClients(world, workload(own));
          await Promise.all([work, group === "killed" ? delay(700).then(redis.kill) : undefined]);
          await Promise.all(world.servers.live().map((server) => server.kill()));
          histories.set(group, historyOf(world, group[0] ?? ""));
        }
        for (const [group, history] of histories) {
          const what = `${group} Redis: lines that differ from the history without Redis`;
          world.history.add({
            op: "measure",
            what,
            value: differences(history, histories.get("none") ?? []),
            limit: 0,
          });
        }
      } finally {
        await world.servers.close();
        await redis.kill();
      }
    },
  },
};

/** What the readers of a group's runs got, thread by thread, without what is new each time: ids, and what holds them. */
function historyOf(world: World, group: string): string[] {
  const keys = new Map<string, string>();
  const frames = new Map<string, string[]>();
  for (const entry of world.history.entries) {
    if (entry.op === "create" && entry.run && entry.key.startsWith(`T${group}`))
      keys.set(entry.run, entry.key);
    if (entry.op !== "stream") continue;
    const key = keys.get(entry.run);
    if (key === undefined) continue;
    const own = frames.get(key) ?? [];
    frames.set(key, own);
    own.push(...entry.frames.map(({ id, event, data }) => `${id} ${event} ${data}`));
  }
  return [...frames]
    .map(([key, lines]) => [key, ...lines].join("\n"))
    .sort()
    .join("\n")
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(chatcmpl-|call_)\d+/g, "<id>")
    .replaceAll(/(re \S+ after \d+) [0-9a-f]{12}/g, "$1 <hash>")
    .replaceAll(new RegExp(`\\bT${group}(?=\\d+#)`, "g"), "T")
    .split("\n");
}

function differences(lines: readonly string[], others: readonly string[]): number {
  const length = Math.max(lines.length, others.length);
  return Array.from({ length }, (_, i) => lines[i] !== others[i]).filter(Boolean).length;
}
