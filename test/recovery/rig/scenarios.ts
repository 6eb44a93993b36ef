// What is done to the servers while clients work. One entry per fault; the letters are those of docs/reliability.md.
import { setTimeout as delay } from "node:timers/promises";
import { runClients, type Workload } from "./client.ts";
import { CRASH_POINTS } from "./crash-points.ts";
import {
  during,
  LEASE_MS,
  pauseAtOnce,
  pauseReleases,
  pickLive,
  replace,
  startServers,
  workload,
} from "./faults.ts";
import { CLIENT_SCENARIOS } from "./scenarios-clients.ts";
import { CONVERSATION_SCENARIOS } from "./scenarios-conversations.ts";
import { DATABASE_SCENARIOS } from "./scenarios-database.ts";
import { MANY_SCENARIOS } from "./scenarios-many.ts";
import { NETWORK_SCENARIOS } from "./scenarios-network.ts";
import { OUTBOX_SCENARIOS } from "./scenarios-outbox.ts";
import { SESSION_SCENARIOS } from "./scenarios-sessions.ts";
import { type StartOptions, whyNoFaketime } from "./supervisor.ts";
import type { World } from "./world.ts";

export interface Scenario {
  readonly about: string;
  /** Why it cannot be played here. */
  readonly missing?: () => string | undefined;
  /** Not in the short profile, which others of its kind are in. */
  readonly isLong?: boolean;
  /** Its runs are not read again from their start when all is over: they are too many. */
  readonly unread?: boolean;
  /** It harms PostgreSQL: it gets one that no other scenario uses, perhaps with a replica. */
  readonly ownPostgres?: true | "replicated";
  play(world: World): Promise<void>;
}

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  kill: {
    about: "R1 R2: servers are killed at random, and others take their place",
    async play(world) {
      await startServers(world, 3);
      await during(runClients(world, workload({ turns: 4 * world.times })), async () => {
        await delay(world.random.whole(300, 1_500));
        await pickLive(world)?.kill();
        await replace(world);
      });
    },
  },
  "kill-all": {
    about: "R3: all servers are killed at once",
    isLong: true,
    async play(world) {
      await startServers(world, 3);
      await during(runClients(world, workload({ turns: 3 * world.times })), async () => {
        await delay(world.random.whole(1_000, 2_500));
        const from = Date.now();
        await Promise.all(world.servers.live().map((server) => server.kill()));
        await Promise.all([replace(world), replace(world)]);
        world.history.add({ op: "outage", from, to: Date.now() });
      });
    },
  },
  "crash-points": {
    about: "R1 R13 R33: each server is killed at a named point of a run's life",
    async play(world) {
      const points = [...CRASH_POINTS].filter(
        ([, { by }]) => by === "request" || by === "run" || by === "cancel" || by === "rollback",
      );
      const crash = (): StartOptions => ({
        crash: `${world.random.pick(points)[0]}@${world.random.whole(1, 12)}`,
      });
      await startServers(world, 3, (i) => (i === 0 ? {} : crash()));
      const work = runClients(
        world,
        workload({
          turns: 4 * world.times,
          cancel: 0.15,
          strategies: ["enqueue", "enqueue", "interrupt", "rollback"],
        }),
      );
      await during(work, async () => {
        await delay(100);
        if (world.servers.live().length < 3) await replace(world, crash());
      });
    },
  },
  "crash-requests": {
    about: "R13 R15: servers are killed between a commit and its answer, and the client sends it again",
    async play(world) {
      const crash = (point: string): StartOptions => ({
        crash: `${point}@${world.random.whole(1, 3)}`,
      });
      // A commit may be another one than that of a run.
      await startServers(world, 2, (i) => (i === 0 ? {} : crash("run-committed")));
      await during(
        runClients(world, workload({ turns: 4 * world.times, directives: () => "ms=50" })),
        async () => {
          await delay(50);
          const point = world.random.pick(["after-commit", "run-committed"]);
          if (world.servers.live().length < 2) await replace(world, crash(point));
        },
      );
    },
  },
  "crash-events": {
    about: "R2: servers are killed while they write events",
    async play(world) {
      const crash = (): StartOptions => ({
        crash: `${world.random.pick(["before-event-flush", "after-event-flush"])}@${world.random.whole(3, 20)}`,
      });
      await startServers(world, 3, (i) => (i === 0 ? {} : crash()));
      const directives = () => "ms=600 chunks=20";
      await during(runClients(world, workload({ turns: 3 * world.times, cut: 0, directives })), async () => {
        await delay(50);
        if (world.servers.live().length < 3) await replace(world, crash());
      });
    },
  },
  cancel: {
    about: "R33: runs are cancelled from other servers while they run",
    async play(world) {
      await startServers(world, 3);
      await runClients(
        world,
        workload({
          turns: 3 * world.times,
          cancel: 1,
          cut: 0.1,
          hurry: 0,
          directives: () => "ms=8000 chunks=20",
        }),
      );
    },
  },
  pause: {
    about: "R4: a server is paused beyond its leases, and wakes up",
    async play(world) {
      await startServers(world, 3);
      const directives = workload({ threads: 6, turns: 3 * world.times, directives: () => "ms=1500 tool" });
      await during(runClients(world, directives), async () => {
        await delay(world.random.whole(200, 900));
        const zombie = pickLive(world);
        zombie?.pause();
        await delay(LEASE_MS + world.random.whole(500, 2_500));
        zombie?.resume();
      });
    },
  },
  "pause-points": {
    about: "R4: a server is paused at a named point, just before it writes, and wakes up beyond its leases",
    isLong: true,
    async play(world) {
      const points = ["before-finish", "before-put", "before-put-writes", "before-event-flush"];
      const stop = (): StartOptions => ({
        crash: `${world.random.pick(points)}@${world.random.whole(1, 4)}@SIGSTOP`,
      });
      await startServers(world, 3, (i) => (i === 0 ? {} : stop()));
      const work = runClients(
        world,
        workload({ threads: 6, turns: 2 * world.times, directives: () => "ms=200 tool" }),
      );
      await during(work, async () => {
        await delay(50);
        const stopped = world.servers.instances.filter((server) => server.hasStopped());
        for (const server of stopped) server.pause();
        if (stopped.length === 0) return;
        await delay(LEASE_MS + 1_500);
        for (const server of stopped) server.resume();
        await delay(500);
        await Promise.all(stopped.map((server) => server.kill()));
        await Promise.all(stopped.map(() => replace(world, stop())));
      });
    },
  },
  "pause-ends": {
    about: "R4: all servers are paused just before they end a run, and wake up when another one has it",
    play: (world) => pauseAtOnce(world, "before-finish", "ms=50"),
  },
  "pause-events": {
    about: "R4: servers are paused just before they write events, and wake up while another one writes them",
    play: (world) => pauseAtOnce(world, "before-event-flush", "ms=5000 chunks=40"),
  },
  "pause-releases": {
    about:
      "R4: servers that stop are paused just before they give their runs back, and wake up when others have them",
    play: pauseReleases,
  },
  block: {
    about: "R5: a graph blocks the event loop for two leases",
    async play(world) {
      await startServers(world, 2);
      await runClients(
        world,
        workload({
          threads: 4,
          turns: 2 * world.times,
          directives: (random) => (random.chance(0.6) ? "block" : "ms=100"),
        }),
      );
    },
  },
  clocks: {
    about: "R6: the servers' clocks are seconds, an hour and a day wrong",
    missing: whyNoFaketime,
    async play(world) {
      const clocks = ["+1h", "-5s", "-1d", "+5s"];
      await startServers(world, 4, (i) => ({ clock: clocks[i] ?? "+0" }));
      await runClients(world, workload({ turns: 5 * world.times }));
    },
  },
  race: {
    about: "R15 R16: many servers and clients on few threads, all strategies",
    async play(world) {
      await startServers(world, 3);
      await runClients(
        world,
        workload({
          threads: 4,
          turns: 12 * world.times,
          hurry: 0.9,
          cancel: 0.1,
          strategies: ["enqueue", "reject", "interrupt", "rollback"],
          directives: (random) => `ms=${random.whole(1, 80)}`,
        }),
      );
    },
  },
  streams: {
    about: "R2 R18: streams are cut at random bytes and resumed on another server",
    async play(world) {
      await startServers(world, 3);
      await runClients(
        world,
        workload({
          turns: 6 * world.times,
          cut: 0.85,
          directives: (random) => `ms=300 chunks=30 pad=${random.whole(0, 3_000)}`,
        }),
      );
    },
  },
  poison: {
    about: "R21: a run kills its server each time; others go on",
    async play(world) {
      await startServers(world, 2, () => ({ mayDie: true }));
      let deaths = 2 * world.times;
      const directives: Workload["directives"] = (random) =>
        random.chance(0.2) && deaths-- > 0 ? "die" : "ms=100";
      await during(
        runClients(world, workload({ threads: 6, turns: 4 * world.times, directives })),
        async () => {
          await delay(100);
          if (world.servers.live().length < 2) await replace(world, { mayDie: true });
        },
      );
    },
  },
  drain: {
    about: "R24: servers are told to stop while they work",
    async play(world) {
      await startServers(world, 2);
      await during(runClients(world, workload({ turns: 4 * world.times })), async () => {
        await delay(world.random.whole(500, 1_500));
        const leaving = pickLive(world);
        await replace(world, { env: { GRACE_SECONDS: world.random.pick(["0", "1"]) } });
        await leaving?.term();
      });
    },
  },
  ...MANY_SCENARIOS,
  ...NETWORK_SCENARIOS,
  ...DATABASE_SCENARIOS,
  ...CLIENT_SCENARIOS,
  ...OUTBOX_SCENARIOS,
  ...CONVERSATION_SCENARIOS,
  ...SESSION_SCENARIOS,
};
