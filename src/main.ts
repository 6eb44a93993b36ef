// The process: settings, app, listen, what is printed, signals. `npm start -- --config path/to/langgraph.json`
import { once } from "node:events";
import { createServer } from "node:net";
import path from "node:path";
import { parseArgs } from "node:util";
import { type App, buildApp } from "./app.ts";
import { type Config, loadConfig } from "./config.ts";
import { StartupError } from "./errors.ts";

const print = (...lines: string[]) => process.stdout.write(`${lines.join("\n")}\n`);

async function main(): Promise<void> {
  const config = loadConfig();
  await checkPort(config);
  const app = await buildApp(config, path.resolve(readArguments().config));
  const stop = stopOnce(app, config);
  // A promise that a graph has forgotten must not take the other runs with it.
  process.on("unhandledRejection", (error) =>
    app.log.error(error, "a promise was rejected and nobody looked"),
  );
  process.once("uncaughtException", (error) => {
    app.log.fatal(error, "uncaught exception: the server stops");
    const end = () => process.exit(1);
    app.close().then(end, end);
  });
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
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

function describe({ graphs, database, models, sandbox }: App, config: Config, url: string): string[] {
  const [model] = models;
  return [
    `Heddle listens on ${url}`,
    "",
    `  graphs    ${graphs.join(", ")}`,
    `  database  ${database}`,
    `  model     ${model?.name}${config.models.length === 0 ? " (scripted: set OPENAI_API_KEY for a real one)" : ""}`,
    `  sandbox   ${sandbox.name}`,
    ...[...sandbox.lacks, sandbox.reason, sandbox.warning].flatMap((line) =>
      line ? [`              ${line}`] : [],
    ),
    `  data      ${config.dataDir}`,
    "",
    "Try:",
    `  curl ${url}/info`,
    `  curl -N ${url}/runs/stream -H 'content-type: application/json' \\`,
    `    -d '{"assistant_id":"${graphs[0]}","input":{"messages":[{"role":"user","content":"Hello"}]},"stream_mode":"updates"}'`,
    `  https://smith.langchain.com/studio?baseUrl=${url}`,
  ];
}

/** What a stop may take beyond the grace time. */
const CLOSING_MS = 800;

function stopOnce(app: App, { graceSeconds }: Config): () => void {
  return () => {
    print("Heddle stops: running runs are given time to end. Once more to stop at once.");
    const now = () => process.exit(1);
    // A graph that does not look at its signal, or a database that is away, must not hold up the end. What is not
    // given back to the queue by then goes on when its lease runs out.
    setTimeout(now, graceSeconds * 1_000 + CLOSING_MS).unref();
    process.once("SIGINT", now);
    process.once("SIGTERM", now);
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
