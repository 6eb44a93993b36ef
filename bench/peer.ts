// `npm run bench:peer`: Heddle, with all it keeps in PostgreSQL, beside the official dev server, which keeps everything
// in memory: the same graphs, model and clients, in turn, on this machine. Prints the tables of bench/README.md.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import path from "node:path";
import { type BenchServer, startDevServer, startHeddle } from "./peer/bench-server.ts";
import { CELLS, type Load, type Measured, nameOf } from "./peer/cell.ts";
import { type Cleanup, createCleanup } from "./peer/cleanup.ts";
import { openBenchDatabase } from "./peer/database.ts";
import { type Figures, measure } from "./peer/measure.ts";
import { databaseTable, peerTable } from "./peer/tables.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const SECONDS = Number(process.env.SECONDS ?? 3);
const FILTER = new RegExp(process.env.CELLS ?? "");
const PROFILE = process.env.PROFILE ? path.resolve(process.env.PROFILE) : undefined;
const GRAPHS = path.join(import.meta.dirname, "graphs");

/** A process of this folder that ends with this one. */
function startPart(file: string, cleanup: Cleanup) {
  const child = fork(path.join(import.meta.dirname, "peer", file), { detached: true });
  cleanup.add(() => void child.kill("SIGKILL"));
  const ended = once(child, "exit").then(([code, signal]) => {
    throw new Error(`${file} ended with ${code ?? signal}`);
  });
  // It ends at the clean-up, when nobody listens to it any more.
  ended.catch(() => undefined);
  return {
    /** Its next message. */
    async hear<T>(): Promise<T> {
      const [message] = await Promise.race([once(child, "message"), ended]);
      return message as T;
    },
    tell: (load: Load) => void child.send(load),
  };
}

/** Both servers get this file; it lies in a folder of its own, since the dev server writes beside it. */
function makeFolder(cleanup: Cleanup): string {
  const folder = mkdtempSync(path.join(tmpdir(), "heddle-peer-"));
  cleanup.add(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const graphs = ["g1", "g2"].map((id) => [
    id,
    `./${path.relative(folder, path.join(GRAPHS, `${id}.ts`))}:graph`,
  ]);
  const json = { node_version: "24", dependencies: ["."], graphs: Object.fromEntries(graphs) };
  writeFileSync(path.join(folder, "langgraph.json"), JSON.stringify(json));
  return folder;
}

async function compare(cleanup: Cleanup): Promise<void> {
  const cells = CELLS.filter((cell) => FILTER.test(nameOf(cell)));
  const folder = makeFolder(cleanup);
  if (PROFILE !== undefined) mkdirSync(PROFILE, { recursive: true });
  const modelPort = await startPart("model-process.ts", cleanup).hear<number>();
  const clients = startPart("load-process.ts", cleanup);
  const database = await openBenchDatabase(folder, cleanup);
  const common = { folder, modelUrl: `http://127.0.0.1:${modelPort}/v1`, cleanup };
  const servers: BenchServer[] = [
    await startHeddle({ ...common, databaseUrl: database.url, profileFolder: PROFILE }),
    // A profile is of Heddle alone.
    ...(PROFILE === undefined ? [await startDevServer(common)] : []),
  ];
  const results = cells.flatMap((cell) =>
    servers.map((server) => ({ cell, server, rounds: [] as Figures[] })),
  );

  const load = (message: Load) => {
    clients.tell(message);
    return clients.hear<Measured>();
  };
  for (const { cell, server } of results.filter(({ cell }) => cell.concurrency === cells[0]?.concurrency)) {
    await load({ ...cell, concurrency: 16, url: server.url, seconds: 2 });
  }
  for (let round = 0; round < ROUNDS; round++) {
    // In turn, and each begins as often as the other.
    for (const { cell, server, rounds } of round % 2 === 0 ? results : results.toReversed()) {
      const own = server.name === "Heddle" ? database : undefined;
      rounds.push(await measure(server, own, () => load({ ...cell, url: server.url, seconds: SECONDS })));
    }
    process.stderr.write(`round ${round + 1} of ${ROUNDS}\n`);
  }

  const tables = results.map(({ cell, server, rounds }) => ({ cell, server: server.name, rounds }));
  process.stdout.write(`${describeMachine()}\n\n${peerTable(tables)}\n\n${databaseTable(tables)}\n`);
  if (PROFILE !== undefined) await database.writeTopStatements(path.join(PROFILE, "statements.txt"));
}

function describeMachine(): string {
  const [cpu] = cpus();
  const machine = `${cpus().length} cores (${cpu?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
  const database = process.env.DATABASE_URL ? "own PostgreSQL" : "embedded PostgreSQL";
  return `${new Date().toISOString().slice(0, 10)}, ${machine}, ${database}, ${ROUNDS} rounds of ${SECONDS} s per cell`;
}

const cleanup = createCleanup();
try {
  await compare(cleanup);
} finally {
  await cleanup.run();
}
