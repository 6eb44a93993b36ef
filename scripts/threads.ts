// Takes threads of the official PostgresSaver over, and gives threads back to it:
//   npm run threads -- import --from <database url> [--schema public] [--graph lead] <thread id>… | --all
//   npm run threads -- export --to <database url> [--schema public] <thread id>… | --all
// Heddle's own database is the one of the settings; the embedded one only while no server uses it.
import { parseArgs } from "node:util";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { loadConfig } from "../src/config.ts";
import { hasTables, selectThreadIds } from "../src/db/checkpoint-rows.sql.ts";
import { createDatabase, type Database } from "../src/db/database.ts";
import { startEmbedded } from "../src/db/embedded.ts";
import { migrate } from "../src/db/migrate.ts";
import { StartupError } from "../src/errors.ts";
import { TransferError } from "../src/threads/copy-checkpoints.ts";
import { exportThread, importThread, type StockTables } from "../src/threads/transfer.ts";

const USAGE =
  "npm run threads -- import --from <database url> [--schema public] [--graph <id>] <thread id>… | --all";

interface Command {
  readonly direction: "import" | "export";
  readonly url: string;
  readonly schema: string;
  readonly graphId: string | undefined;
  /** Undefined: all. */
  readonly threadIds: readonly string[] | undefined;
}

/** @throws StartupError when the arguments are not complete */
export function readCommand(args: readonly string[]): Command {
  const next = `${USAGE}, or the same with export --to.`;
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        from: { type: "string" },
        to: { type: "string" },
        schema: { type: "string", default: "public" },
        graph: { type: "string" },
        all: { type: "boolean", default: false },
      },
    });
    const [direction, ...threadIds] = positionals;
    if (direction !== "import" && direction !== "export") throw new Error("Say import or export.");
    const [option, url, other] =
      direction === "import" ? ["--from", values.from, values.to] : ["--to", values.to, values.from];
    if (!url || other !== undefined)
      throw new Error(`${direction} takes ${option} and a database's address.`);
    if (values.all === threadIds.length > 0) throw new Error("Name threads, or say --all.");
    if (values.schema === "heddle") throw new Error("The schema heddle is Heddle's own.");
    return {
      direction,
      url,
      schema: values.schema,
      graphId: values.graph,
      threadIds: values.all ? undefined : threadIds,
    };
  } catch (error) {
    throw new StartupError(error instanceof Error ? error.message : String(error), { next });
  }
}

/**
 * Does it, thread by thread. One that cannot be transferred does not hold up the others.
 * @returns whether all went well
 */
export async function transfer(
  db: Database,
  other: Database,
  { direction, schema, graphId, threadIds }: Command,
  print: (line: string) => void,
): Promise<boolean> {
  const stock: StockTables = { db: other, schema };
  if (direction === "export") await new PostgresSaver(other.pool, undefined, { schema }).setup();
  else if (!(await hasTables(stock))) {
    throw new StartupError(`The schema ${schema} has no checkpoint tables of LangGraph.`, {
      next: "Name the schema that the PostgresSaver was given: --schema <name>.",
    });
  }
  const listed = direction === "import" ? stock : { db, schema: "heddle" };
  const names = threadIds ?? (await selectThreadIds(listed)).map((row) => row.thread_id);
  let failed = 0;
  for (const name of names) {
    try {
      const { threadId, checkpoints } =
        direction === "import"
          ? await importThread(db, stock, { name, graphId })
          : await exportThread(db, stock, name);
      const shown = threadId === name ? name : `${name} as ${threadId}`;
      print(checkpoints === 0 ? `${shown}: nothing new` : `${shown}: ${checkpoints} checkpoints`);
    } catch (error) {
      if (!(error instanceof TransferError)) throw error;
      failed++;
      print(`${name}: not transferred. ${error.message}`);
    }
  }
  print(`${names.length - failed} of ${names.length} threads transferred.`);
  return failed === 0;
}

async function main(): Promise<void> {
  const command = readCommand(process.argv.slice(2));
  const config = loadConfig();
  const onError = () => undefined;
  const embedded =
    config.databaseUrl === undefined
      ? await startEmbedded({ dataDir: config.dataDir, onEvent: onError })
      : undefined;
  const db = createDatabase({ url: config.databaseUrl ?? embedded?.url ?? "", max: 2, onError });
  const other = createDatabase({ url: command.url, max: 2, onError });
  try {
    await tryConnection(db, "Heddle's database", "Check DATABASE_URL.");
    await tryConnection(other, "The other database", "Check the address that the command was given.");
    await migrate(db);
    const ok = await transfer(db, other, command, (line) => process.stdout.write(`${line}\n`));
    if (!ok) process.exitCode = 1;
  } finally {
    await other.close();
    await db.close();
    await embedded?.stop();
  }
}

async function tryConnection(db: Database, name: string, next: string): Promise<void> {
  await db.query("select 1").catch((error: unknown) => {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new StartupError(`${name} does not answer: ${why}.`, { next, cause: error });
  });
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    const next = error instanceof StartupError ? `\nNext: ${error.next}` : "";
    process.stderr.write(`${error instanceof Error ? error.message : error}${next}\n`);
    process.exitCode = 1;
  });
}
