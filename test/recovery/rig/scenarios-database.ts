// Faults of PostgreSQL: it dies; or it runs, and tables are locked, no connection is left, connections are dead without a word.
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { request, runClients, type Workload } from "./client.ts";
import { during, startServers, untilServing, workload } from "./faults.ts";
import { startProxy } from "./proxy.ts";
import type { Scenario } from "./scenarios.ts";
import { over } from "./scenarios-network.ts";
import { LEASE_SECONDS, type World } from "./world.ts";

/** Seconds until a server must have seen that its connections are dead: its longest statement, and a little. */
const SEEN_SECONDS = 15;

async function outage(world: World, what: () => Promise<void>): Promise<void> {
  const from = Date.now();
  await what();
  world.history.add({ op: "outage", from, to: Date.now() });
}

/** PostgreSQL is killed, and started again up to two seconds later. */
export const crashPostgres = (world: World) =>
  outage(world, async () => {
    await world.postgres.crash();
    await delay(world.random.whole(0, 2_000));
    await world.postgres.start();
  });

export const DATABASE_SCENARIOS: Readonly<Record<string, Scenario>> = {
  postgres: {
    about: "R7: PostgreSQL is killed and comes back",
    ownPostgres: true,
    async play(world) {
      await startServers(world, 2);
      const directives: Workload["directives"] = (random) => `ms=${random.whole(100, 600)} tool`;
      await during(runClients(world, workload({ turns: 4 * world.times, directives })), async () => {
        await delay(world.random.whole(500, 2_000));
        await crashPostgres(world);
        await untilServing(world);
      });
    },
  },
  backends: {
    about: "R8: connections to PostgreSQL are ended at random",
    async play(world) {
      await startServers(world, 2);
      const work = runClients(world, workload({ turns: 4 * world.times }));
      await outage(world, () =>
        during(work, async () => {
          await delay(100);
          await world.db.query(
            `select pg_terminate_backend(pid) from (
               select pid from pg_stat_activity
               where application_name like 'rig:%' and datname = current_database() order by random() limit 1
             ) as one`,
          );
        }),
      );
    },
  },
  locked: {
    about: "R11: tables are locked for longer than a lease, so that every statement hangs",
    isLong: true,
    async play(world) {
      await startServers(world, 2);
      const work = runClients(world, workload({ threads: 6, turns: 4 * world.times }));
      await during(work, async () => {
        await delay(world.random.whole(500, 1_500));
        const table = world.random.pick(["runs", "checkpoints", "threads", "run_events"]);
        await outage(world, () =>
          world.db.transaction(async (tx) => {
            await tx.query(`lock table heddle.${table} in access exclusive mode`);
            await delay(world.random.whole(500, LEASE_SECONDS * 1_000 + 1_500));
          }),
        );
      });
    },
  },
  full: {
    about: "R12: no connection is left in PostgreSQL",
    ownPostgres: true,
    async play(world) {
      await startServers(world, 2);
      const work = runClients(world, workload({ turns: 4 * world.times }));
      await during(work, async () => {
        await delay(world.random.whole(300, 1_000));
        await outage(world, () => fill(world));
      });
    },
  },
  failover: {
    about:
      "R10: PostgreSQL dies, and its synchronous replica takes its place; for a moment it takes no writes",
    isLong: true,
    ownPostgres: "replicated",
    async play(world) {
      await startServers(world, 3);
      const directives = () => `ms=${world.random.whole(50, 800)} chunks=10 tool`;
      const work = runClients(world, workload({ turns: 4 * world.times, directives }));
      await delay(world.random.whole(1_000, 3_000));
      await crashPostgres(world);
      await untilServing(world);
      await work;
    },
  },
  "half-open": {
    about: "R9: all connections of a server are dead, and nobody has told it; new ones work",
    isLong: true,
    async play(world) {
      const proxy = await startProxy(world.postgres.port);
      try {
        await startServers(world, 3, (i) => (i === 0 ? { databaseUrl: over(world, proxy.port) } : {}));
        const [first] = world.servers.instances;
        if (!first) throw new Error("no server");
        const work = runClients(world, workload({ turns: 4, directives: () => "ms=800 tool" }));
        await delay(1_500);
        proxy.forget();
        const until = Date.now() + SEEN_SECONDS * 1_000;
        await outage(world, () => work);
        const answers = async () => (await request(world, first.url, "GET /ok"))?.status === 200;
        await outage(world, async () => {
          while (!(await answers()) && Date.now() < until) await delay(200);
        });
        const isBack = await answers();
        world.history.add({
          op: "measure",
          what: `not back after ${SEEN_SECONDS} s`,
          value: isBack ? 0 : 1,
          limit: 0,
        });
      } finally {
        await world.servers.close();
        await proxy.close();
      }
    },
  },
};

/** Takes what connections there are, for a while. */
async function fill(world: World): Promise<void> {
  const taken: pg.Client[] = [];
  const take = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: world.databaseUrl });
    client.on("error", () => undefined);
    taken.push(client);
    return client.connect().then(
      () => true,
      () => false,
    );
  };
  while ((await Promise.all(Array.from({ length: 20 }, take))).every(Boolean));
  await delay(world.random.whole(500, 2_000));
  await Promise.all(taken.map((client) => client.end().catch(() => undefined)));
}
