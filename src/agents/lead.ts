// The graph "lead" of langgraph.json, wired by hand from the process's settings. Whoever loads graphs by path can
// load it: this server, LangGraph's dev server, Studio.
import { pino } from "pino";
import { createTools } from "../../tools/index.ts";
import { loadConfig } from "../config.ts";
import { createThreadFiles } from "../files/thread-files.ts";
import { createSandboxes } from "../sandbox/sandboxes.ts";
import { createLead } from "./create-lead.ts";
import { createModels } from "./models.ts";

const config = loadConfig();
const log = pino({ name: "lead", level: config.logLevel });
const { limits, dataDir } = config;
const files = createThreadFiles({ dataDir });
const sandboxes = createSandboxes({
  provider: config.sandbox,
  dataDir,
  files,
  idleMs: limits.sandbox_idle_seconds * 1000,
  limits: {
    timeoutMs: limits.command_timeout_seconds * 1000,
    maxMemoryBytes: limits.command_memory_mb * 1024 ** 2,
  },
});

export const graph = createLead({
  files,
  sandboxes,
  models: createModels(config.models),
  tools: createTools({
    files,
    sandboxes,
    limits: { bashTimeoutMs: limits.command_timeout_seconds * 1000 },
  }),
  settings: config,
  log: (entry) => log.warn(entry),
});

/** Called when the server stops: commands that still run are killed, scratch folders are removed. */
export const close = () => sandboxes.close();
