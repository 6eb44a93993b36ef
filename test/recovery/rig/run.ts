// `npm run test:faults`: plays scenarios against real servers, and checks what the clients saw and what is stored.
//   --profile short|long   --times n   --scenario name   --seed text   --mutant name   --mutants   --parallel n   --verbose
import { parseArgs } from "node:util";
import { check, type Violation } from "./check.ts";
import { readAll } from "./client.ts";
import type { Contents } from "./contents.ts";
import { createCustody } from "./custody.ts";
import type { Entry } from "./history.ts";
import { measureHoldings } from "./holdings.ts";
import { takeovers } from "./invariants/execution.ts";
import { MUTANTS } from "./mutants.ts";
import { type RigPostgres, startPostgres } from "./postgres.ts";
import { startReplicated } from "./replicated-postgres.ts";
import { SCENARIOS } from "./scenarios.ts";
import { createWorld, LEASE_SECONDS, type World } from "./world.ts";

const { values } = parseArgs({
  options: {
    profile: { type: "string", default: "short" },
    times: { type: "string" },
    scenario: { type: "string", multiple: true },
    seed: { type: "string" },
    mutant: { type: "string" },
    mutants: { type: "boolean", default: false },
    parallel: { type: "string", default: "1" },
    verbose: { type: "boolean", default: false },
  },
});
const times = Number(values.times ?? (values.profile === "long" ? 20 : 1));
const seed = values.seed ?? Math.floor(Math.random() * 1e9).toString(36);
const print = (text: string) => process.stdout.write(`${text}\n`);

const custody = createCustody();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => void custody.close().then(() => process.exit(130)));
}

let sharedPostgres: Promise<RigPostgres> | undefined;
const shared = () => {
  sharedPostgres ??= startPostgres(custody, "shared");
  return sharedPostgres;
};

async function play(
  name: string,
  mutant?: string,
  ownSeed = seed,
): Promise<{ violations: Violation[]; counts: string }> {
  const scenario = SCENARIOS[name];
  if (!scenario)
    throw new Error(`There is no scenario ${name}. There are ${Object.keys(SCENARIOS).join(", ")}.`);
  const { ownPostgres } = scenario;
  const startOwn = ownPostgres === "replicated" ? startReplicated : startPostgres;
  const postgres = ownPostgres ? await startOwn(custody, `${name}_${mutant}`) : await shared();
  const database = `rig_${name.replaceAll("-", "_")}`;
  const world = await createWorld({ custody, postgres, name: database, seed: ownSeed, times, mutant });
  try {
    await scenario.play(world);
    if (world.servers.live().length === 0) await world.servers.start("last");
    if (name !== "starts") await readAll(world, !scenario.unread);
    await measureHoldings(world);
    await world.servers.close();
    const contents = name === "starts" ? EMPTY : await world.contents();
    const violations = check({ entries: world.history.entries, contents, leaseSeconds: LEASE_SECONDS });
    return { violations, counts: count(world.history.entries, contents) };
  } catch (error) {
    const what =
      error instanceof Error ? (values.verbose ? String(error.stack) : error.message) : String(error);
    return {
      violations: [{ invariant: "I6 recovery is soon", what }],
      counts: count(world.history.entries, EMPTY),
    };
  } finally {
    if (values.verbose) {
      for (const line of warningsOf(world)) print(`      ${line.slice(0, 700)}`);
      for (const run of await selectUnfinished(world)) print(`      unfinished: ${JSON.stringify(run)}`);
    }
    await world.close();
    if (ownPostgres) await postgres.close();
  }
}

const warningsOf = (world: World): string[] =>
  world.servers.instances.flatMap((server) =>
    [...server.log().matchAll(/^.*"level":[456]0.*$/gm)].map(([line]) => `${server.name} ${line}`),
  );

const selectUnfinished = ({ db }: World) =>
  db
    .query(
      `select run_id, thread_id, run_number, status, attempt, crashes, cancel_action, lease_owner,
         lease_until - clock_timestamp() as lease, available_at - clock_timestamp() as available
       from heddle.runs where status in ('pending', 'running') order by run_number`,
    )
    .catch(() => []);

const EMPTY: Contents = {
  runs: [],
  changes: [],
  staleWrites: [],
  events: [],
  orphans: [],
  cronMoves: [],
  cronRuns: [],
  webhooks: [],
  webhookClaims: [],
};

function count(entries: readonly Entry[], { runs, changes }: Contents): string {
  const late = takeovers(changes).map((takeover) => Math.round(takeover.late));
  const faults = Map.groupBy(
    entries.flatMap((entry) => (entry.op === "fault" ? [entry.kind] : [])),
    (kind) => kind,
  );
  const cuts = entries.filter((entry) => entry.op === "stream" && entry.end === "cut").length;
  const exits = entries.filter((entry) => entry.op === "exit").length;
  return [
    `${runs.length} runs`,
    ...(late.length === 0
      ? []
      : [`${late.length} taken over, at most ${Math.max(...late)} ms after the lease`]),
    `${cuts} streams cut`,
    `${entries.filter((entry) => entry.op === "outage").length} outages`,
    `${exits} exits`,
    ...largest(entries),
    ...[...faults].filter(([kind]) => kind !== "start").map(([kind, all]) => `${all.length} × ${kind}`),
  ].join(", ");
}

/** The largest value of each measure that may be more than nothing. */
function largest(entries: readonly Entry[]): string[] {
  const measures = new Map<string, number>();
  for (const entry of entries) {
    if (entry.op !== "measure" || entry.limit === 0) continue;
    measures.set(entry.what, Math.max(entry.value, measures.get(entry.what) ?? 0));
  }
  return [...measures].map(([what, value]) => `${value} ${what}`);
}

function show(name: string, violations: readonly Violation[]): void {
  for (const { invariant, what } of violations.slice(0, 10))
    print(`      ${invariant}: ${what.slice(0, 600)}`);
  if (violations.length > 10) print(`      … and ${violations.length - 10} more`);
  print(`      again: npm run test:faults -- --scenario ${name} --seed ${seed} --times ${times}`);
}

async function playAll(names: readonly string[]): Promise<boolean> {
  print(`seed ${seed}, ${times} × each scenario, leases of ${LEASE_SECONDS} s`);
  const waiting = [...names];
  let isGood = true;
  const playNext = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      isGood = (await playOne(name)) && isGood;
    }
  };
  await Promise.all(Array.from({ length: Number(values.parallel) }, playNext));
  return isGood;
}

async function playOne(name: string): Promise<boolean> {
  const missing = SCENARIOS[name]?.missing?.();
  if (missing) {
    print(`  –   ${name}: skipped, ${missing}`);
    return true;
  }
  const began = performance.now();
  const { violations, counts } = await play(name, values.mutant);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  print(`  ${violations.length === 0 ? "✓" : "✗"}   ${name} (${seconds} s): ${counts}`);
  if (violations.length > 0) show(name, violations);
  return violations.length === 0;
}

const inProfile = () =>
  Object.entries(SCENARIOS).flatMap(([name, { isLong }]) =>
    isLong && values.profile !== "long" ? [] : [name],
  );

/** Some faults do harm only when two servers meet, which not every play brings about. */
const MUTANT_PLAYS = 3;

async function playMutant(name: string, scenarios: readonly string[]): Promise<string> {
  for (let playNumber = 1; playNumber <= MUTANT_PLAYS; playNumber++) {
    for (const scenario of scenarios) {
      const { violations } = await play(scenario, name, playNumber === 1 ? seed : `${seed}-${playNumber}`);
      const [first] = violations;
      if (!first) continue;
      if (values.verbose) show(scenario, violations);
      return `${scenario}: ${first.invariant}${playNumber === 1 ? "" : ` (play ${playNumber})`}`;
    }
  }
  return "**not caught**";
}

async function playMutants(only?: string): Promise<boolean> {
  print(`seed ${seed}: each mutant breaks one protection, and has to be caught`);
  print("| mutant | what is gone | caught by |\n|---|---|---|");
  let isGood = true;
  for (const [name, mutant] of MUTANTS) {
    if (only !== undefined && !new RegExp(only).test(name)) continue;
    const caught = await playMutant(name, mutant.scenarios);
    print(`| ${name} | ${mutant.breaks} | ${caught} |`);
    isGood &&= !caught.startsWith("**");
  }
  return isGood;
}

let isGood = false;
try {
  isGood = values.mutants ? await playMutants(values.mutant) : await playAll(values.scenario ?? inProfile());
} finally {
  await sharedPostgres?.then((postgres) => postgres.close());
  const left = await custody.close();
  if (left > 0) print(`${left} processes had to be ended`);
}
process.exitCode = isGood ? 0 : 1;
