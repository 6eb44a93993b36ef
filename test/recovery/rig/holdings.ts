// I7: what each server still holds when its work is over.
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Instance } from "./supervisor.ts";
import type { World } from "./world.ts";

/** Far above what an idle server holds (some 60 files, no process, 250 MiB), far below what a leak comes to. */
const LIMITS = { files: 150, processes: 0, MiB: 1_024 };

type Holdings = Record<keyof typeof LIMITS, number>;

const holdingsOf = ({ pid }: Instance): Holdings => ({
  files: readdirSync(`/proc/${pid}/fd`).length,
  processes: readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).length,
  MiB: Math.round(Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) / 256),
});

/** Gives connections a moment to be closed. */
export async function measureHoldings(world: World): Promise<void> {
  await Promise.all(
    world.servers.live().map(async (server) => {
      let held = holdingsOf(server);
      for (let wait = 0; wait < 50 && held.files > LIMITS.files; wait++) {
        await delay(100);
        held = holdingsOf(server);
      }
      for (const [what, limit] of Object.entries(LIMITS))
        world.history.add({
          op: "measure",
          what: `${what} held by a server`,
          value: held[what as keyof Holdings],
          limit,
        });
    }),
  );
}
