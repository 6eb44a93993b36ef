// The process: settings, app, listen, what is printed, signals. `npm start -- --config path/to/langgraph.json`
import { once } from "node:events";
import { createServer } from "node:net";
import path from "node:path";
import { parseArgs } from "node:util";
import { type App, buildApp } from "./app.ts";
import { type Config, loadConfig } from "./config.ts";
import { FencedError } from "./db/checkpointer.ts";
import { StartupError } from "./errors.ts";

const print = (...lines: string[]) => process.stdout.write(`${lines.join("\n")}\n`);

async function main(): Promise<void> {
  const config = loadConfig();
  await checkPort(config);
  let log: App["log"] | undefined;
  // A promise that a graph has forgotten must not take the other runs with it, nor, while it loads, the other graphs.
  process.on("unhandledRejection", (error) => {
    // LangGraph looks at what it has stored at the end of a step; the run's worker says that the run was lost.
    if (error instanceof FencedError) return;
    const message = "a promise was rejected and nobody looked";
    if (log) log.error(error, message);
    else process.stderr.write(`${message}: ${error instanceof Error ? error.message : error}\n`);
  });
  const app = await buildApp(config, path.resolve(readArguments().config));
  log = app.log;
  const stop = onSignal(app, config);
  process.once("uncaughtException", (error) => {
    app.log.fatal(error, "uncaught exception: the server stops");
    const end = () => process.exit(1);
    app.close().then(end, end);
  });
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  const url = await listen(app, config);
  print(...describe(app, config, url));
}

function readArguments(): { config: string } {
  try {
    const { values } = parseArgs({ options: { config: { type: "string", default: "langgraph.json" } } });
    return values;
  } catch (error) {
    throw new StartupError(error instanceof Error ? error.message : String(error), {
      next: "npm start -- --config path/to/langgraph.json",
    });
  }
}

/** A taken port is told before anything is started. */
async function checkPort(config: Config): Promise<void> {
  const probe = createServer();
  try {
    probe.listen(config.port, config.host);
    await once(probe, "listening");
  } catch (error) {
    throw toListenError(error, config);
  }
  probe.close();
  await once(probe, "close");
}

async function listen(app: App, config: Config): Promise<string> {
  try {
    return await app.server.listen({ host: config.host, port: config.port });
  } catch (error) {
    await app.close();
    throw toListenError(error, config);
  }
}

function toListenError(error: unknown, { host, port }: Config): StartupError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") {
    return new StartupError(`Port ${port} on ${host} is taken by another program.`, {
      next: `PORT=${port + 1} npm start, or find the other program: lsof -i :${port}`,
    });
  }
  if (code === "EACCES") {
    return new StartupError(`Port ${port} may not be used by this user.`, { next: "PORT=2024 npm start" });
  }
  return new StartupError(
    `${host}:${port} cannot be listened on: ${error instanceof Error ? error.message : error}.`,
    {
      next: "Set HOST to an address of this machine: HOST=127.0.0.1 npm start",
    },
  );
}

function describe(app: App, config: Config, url: string): string[] {
  const { graphs, failedGraphs, auth, database, models, sandbox, storeSearch } = app;
  const [model] = models;
  return [
    `Heddle listens on ${url}`,
    "",
    `  graphs    ${graphs.join(", ")}`,
    ...failedGraphs.map(({ file, reason }) => `              not loaded: ${reason} (${file})`),
    `  auth      ${auth.how}`,
    ...(auth.open && !isLoopback(config.host)
      ? [`              WARNING: whoever can reach ${config.host} may do everything; set API_KEYS.`]
      : []),
    `  database  ${database}`,
    ...(storeSearch
      ? [`  store     semantic search, ${storeSearch === "pgvector" ? "with pgvector" : "exact"}`]
      : []),
    `  model     ${model?.name}${config.models.length === 0 ? " (scripted: set OPENAI_API_KEY for a real one)" : ""}`,
    `  sandbox   ${sandbox.name}`,
    ...[...sandbox.lacks, sandbox.reason, sandbox.warning].flatMap((line) =>
      line ? [`              ${line}`] : [],
    ),
    `  data      ${config.dataDir}`,
    "",
    "Try:",
    `  curl ${url}/info`,
    // Which credentials the rules of a project ask for, only their author knows.
    ...(auth.open || auth.header
      ? [
          `  curl -N ${url}/runs/stream -H 'content-type: application/json'${auth.header ? ` -H '${auth.header}: …'` : ""} \\`,
          `    -d '{"assistant_id":"${graphs[0]}","input":{"messages":[{"role":"user","content":"Hello"}]},"stream_mode":"updates"}'`,
        ]
      : []),
    `  https://smith.langchain.com/studio?baseUrl=${url}`,
  ];
}

const isLoopback = (host: string) => /^(localhost|127\.\d+\.\d+\.\d+|::1)$/i.test(host);

/** What a stop may take beyond the grace time. */
const CLOSING_MS = 800;
/** So soon after the first, a signal is its echo: of a Ctrl-C the terminal tells this process, and npm tells it again. */
const ECHO_MS = 500;

/** For each signal: the first one stops the server, a later one does not wait any more. */
function onSignal(app: App, { graceSeconds }: Config): () => void {
  const now = () => process.exit(1);
  let told: number | undefined;
  return () => {
    if (told !== undefined) {
      if (performance.now() - told > ECHO_MS) now();
      return;
    }
    told = performance.now();
    print("Heddle stops: running runs are given time to end. Once more to stop at once.");
    // A graph that does not look at its signal, or a database that is away, must not hold up the end. What is not
    // given back to the queue by then goes on when its lease runs out.
    setTimeout(now, graceSeconds * 1_000 + CLOSING_MS).unref();
    app.close().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
}

function fail(error: unknown): never {
  const lines =
    error instanceof StartupError
      ? [error.message, ...(error.file ? [`File: ${error.file}`] : []), `Next: ${error.next}`]
      : [
          error instanceof Error ? error.message : String(error),
          "Next: this is a defect of Heddle; please report it with this message and LOG_LEVEL=debug.",
        ];
  process.stderr.write(`Heddle cannot start.\n${lines.map((line) => `  ${line}\n`).join("")}`);
  process.exit(1);
}

// Whoever reads our output may go away: that is no reason to end.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
await main().catch(fail);
