// The graph "lead" of langgraph.json, wired by hand from the process's settings. Whoever loads graphs by path can
// load it: this server, LangGraph's dev server, Studio.
import { pino } from "pino";
import { loadConfig } from "../config.ts";
import { createLead } from "./create-lead.ts";
import { createModels } from "./models.ts";
import { files, sandboxes, tools } from "./workplace.ts";

const config = loadConfig();
const log = pino({ name: "lead", level: config.logLevel });

export const graph = createLead({
  files,
  sandboxes,
  models: createModels(config.models),
  tools,
  settings: config,
  log: (entry) => log.warn(entry),
});

export { close } from "./workplace.ts";
