// What scenarios have in common: servers that come and go, and the work that goes on meanwhile.
import { setTimeout as delay } from "node:timers/promises";
import { request, runClients, type Workload } from "./client.ts";
import { EndedAtStart, type Instance, type StartOptions } from "./supervisor.ts";
import { LEASE_SECONDS, type World } from "./world.ts";

export const LEASE_MS = LEASE_SECONDS * 1_000;

export const workload = (own: Partial<Workload> = {}): Workload => ({
  threads: 8,
  turns: 5,
  strategies: ["enqueue"],
  hurry: 0.4,
  cut: 0.3,
  cancel: 0,
  watched: true,
  group: "",
  directives: (random) => `ms=${random.whole(20, 300)}${random.chance(0.3) ? " tool" : ""}`,
  more: {},
  ...own,
});

/** Does `fault` again and again until the clients have finished; then lets it end. */
export async function during(work: Promise<unknown>, fault: () => Promise<void>): Promise<void> {
  let isOver = false;
  const faults = (async () => {
    while (!isOver) await fault();
  })();
  try {
    await work;
  } finally {
    isOver = true;
    await faults;
  }
}

export async function startServers(world: World, count: number, options?: (index: number) => StartOptions) {
  const names = Array.from({ length: count }, (_, i) => `s${i}`);
  await Promise.all(names.map((name, i) => startOrCrash(world, name, options?.(i))));
}

/** One that is to crash, or may, can do so before it listens: then it is simply not there. */
const startOrCrash = (world: World, name: string, options?: StartOptions) =>
  world.servers.start(name, options).catch((error: unknown) => {
    if (!(error instanceof EndedAtStart) || !(options?.crash || options?.mayDie)) throw error;
  });

let started = 0;
/** A server in the place of one that has gone. */
export async function replace(world: World, options?: StartOptions): Promise<void> {
  await startOrCrash(world, `r${started++}`, options);
}

export const pickLive = (world: World): Instance | undefined => {
  const live = world.servers.live();
  return live.length === 0 ? undefined : world.random.pick(live);
};

/** Each server stops by itself at its first (or some) hit of a point, and goes on when its leases are over. */
export async function pauseAtOnce(world: World, point: string, directives: string): Promise<void> {
  const hits = point === "before-finish" ? [1] : [3, 5, 9];
  await startServers(world, 4, (i) => ({ crash: `${point}@${hits[i % hits.length]}@SIGSTOP` }));
  const work = runClients(
    world,
    workload({ threads: 6, turns: 2 * world.times, hurry: 0, directives: () => directives }),
  );
  const until = new Map<string, number>();
  const wake = (isOver: boolean) => {
    for (const server of world.servers.instances) {
      if (server.hasStopped()) {
        server.pause();
        until.set(server.name, Date.now() + LEASE_MS + 1_500);
      }
      if (!isOver && Date.now() < (until.get(server.name) ?? Number.POSITIVE_INFINITY)) continue;
      if (until.delete(server.name)) server.resume();
    }
  };
  await during(work, async () => {
    await delay(50);
    wake(false);
  });
  wake(true);
}

/** Servers that are told to stop are paused before they give back what they run, until their leases are over. */
export async function pauseReleases(world: World): Promise<void> {
  const stop: StartOptions = { crash: "before-release@1@SIGSTOP" };
  await startServers(world, 3, (i) => (i === 0 ? {} : stop));
  const directives = () => "ms=6000 chunks=40";
  const work = runClients(world, workload({ threads: 6, turns: world.times, hurry: 0, cut: 0, directives }));
  await during(work, async () => {
    await delay(1_000);
    const [, leaving] = world.servers.live();
    if (!leaving) return delay(1_000);
    const ended = leaving.term();
    while (leaving.running && !leaving.hasStopped()) await delay(20);
    if (leaving.running) {
      leaving.pause();
      await delay(LEASE_MS + 1_500);
      leaving.resume();
    }
    await ended;
    await replace(world, stop);
  });
}

/** Milliseconds until each server takes a run again. */
const SERVING_MS = 5_000;

/** Waits until each server that runs answers a request that needs the database, and takes note of how long that took. */
export async function untilServing(world: World): Promise<void> {
  const began = Date.now();
  await Promise.all(
    world.servers.live().map(async ({ url, name }) => {
      const search = () => request(world, url, "POST /threads/search", { limit: 1 });
      while ((await search())?.status !== 200) {
        if (!world.servers.live().some((server) => server.name === name)) return;
        await delay(50);
      }
      const value = Date.now() - began;
      world.history.add({ op: "measure", what: "ms until a server serves again", value, limit: SERVING_MS });
    }),
  );
}
