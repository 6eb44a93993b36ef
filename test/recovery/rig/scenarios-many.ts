// Faults that come of many servers: R27, all of them start at once; R16, all of them take what is queued.
import { runClients } from "./client.ts";
import { startServers, workload } from "./faults.ts";
import type { Scenario } from "./scenarios.ts";
import { EndedAtStart } from "./supervisor.ts";

export const MANY_SCENARIOS: Readonly<Record<string, Scenario>> = {
  starts: {
    about: "R27: twenty servers start at once on an empty database, some are killed",
    async play(world) {
      for (let round = 0; round < world.times; round++) {
        await world.db.query("drop schema if exists heddle cascade");
        await world.db.query("drop schema if exists rig cascade");
        const starting = Array.from({ length: 20 }, (_, i) =>
          world.servers
            .start(`n${round}-${i}`, {
              atOnce: true,
              ...(i % 5 === 0 ? { crash: world.random.pick(["migrating@1", "migrated@1"]) } : {}),
            })
            .catch((error: unknown) => {
              if (!(error instanceof EndedAtStart) || i % 5 !== 0) throw error;
            }),
        );
        await Promise.all(starting);
        const [row] = await world.db.query<{ graphs: number }>(
          "select count(*)::integer as graphs from heddle.assistants",
        );
        world.history.add({
          op: "measure",
          what: "missing assistants",
          value: 2 - (row?.graphs ?? 0),
          limit: 0,
        });
        if (round < world.times - 1) await Promise.all(world.servers.live().map((server) => server.kill()));
      }
    },
  },
  queues: {
    about: "R16: eight servers take long queues of many threads; 20,000 runs at 100 times",
    isLong: true,
    unread: true,
    async play(world) {
      await startServers(world, 8);
      const directives = () => "ms=1";
      const turns = 2 * world.times;
      await runClients(world, workload({ threads: 100, turns, hurry: 1, watched: false, directives }));
    },
  },
};
