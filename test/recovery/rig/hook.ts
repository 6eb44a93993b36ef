// Loaded before the server (`node --import`): patches its sources as they are loaded, for the crash point and the
// mutant that the environment names, and lets PostgreSQL know which process a connection belongs to.
import { registerHooks } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CRASH_POINTS } from "./crash-points.ts";
import { MUTANTS } from "./mutants.ts";
import { applyPatch, type Patch } from "./patch.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const { RIG_CRASH, RIG_MUTANT, RIG_INSTANCE, DATABASE_URL = "" } = process.env;

const patches: Patch[] = [];
if (RIG_MUTANT) {
  const mutant = MUTANTS.get(RIG_MUTANT);
  if (!mutant) throw new Error(`There is no mutant ${RIG_MUTANT}`);
  patches.push(...(mutant.patches ?? []));
}
if (RIG_CRASH) {
  const [name = "", count, signal = "SIGKILL"] = RIG_CRASH.split("@");
  const point = CRASH_POINTS.get(name);
  if (!point) throw new Error(`There is no crash point ${name}`);
  // After the mutants' patches: a crash point stands directly before, or behind, what it is named for.
  patches.push(point);
  let left = Number(count);
  Object.assign(globalThis, {
    rigCrash(reached: string) {
      if (reached === name && --left === 0) process.kill(process.pid, signal);
    },
  });
}

// The audit's triggers read it: who writes, and whether he may.
const url = new URL(DATABASE_URL);
url.searchParams.set("application_name", `rig:${RIG_INSTANCE}:${process.pid}`);
process.env.DATABASE_URL = url.href;

// What the process still holds, without what V8 has only not freed yet.
if (process.env.RIG_MEMORY) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  process.on("SIGUSR2", () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    process.stdout.write(`rig: holds ${heapUsed + external} bytes\n`);
  });
}

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const mine = patches.filter(({ file }) => pathToFileURL(path.join(ROOT, file)).href === url);
    if (mine.length === 0) return loaded;
    return { ...loaded, source: mine.reduce(applyPatch, String(loaded.source)) };
  },
});
