// R27: many servers start at once.
import type { Scenario } from "./scenarios.ts";
import { EndedAtStart } from "./supervisor.ts";

export const starts: Scenario = {
  about: "R27: twenty servers start at once on an empty database, some are killed",
  async play(world) {
    for (let round = 0; round < world.times; round++) {
      await world.db.query("drop schema if exists heddle cascade");
      await world.db.query("drop schema if exists rig cascade");
      const starting = Array.from({ length: 20 }, (_, i) =>
        world.servers
          .start(
            `n${round}-${i}`,
            i % 5 === 0 ? { crash: world.random.pick(["migrating@1", "migrated@1"]) } : {},
          )
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
};
