// The graph "research" of langgraph.json, wired by hand from the process's settings, as lead.ts is.
import { loadConfig } from "../../config.ts";
import { createThreadFiles } from "../../files/thread-files.ts";
import { createSandboxes } from "../../sandbox/sandboxes.ts";
import { nextStep } from "../demo-script.ts";
import { createModels } from "../models.ts";
import { createResearch } from "./create-research.ts";
import { demoResearch } from "./demo-research.ts";
import { READ_LIMITS } from "./files/file-report.ts";
import { createArxiv } from "./literature/arxiv.ts";
import { createOpenAlex } from "./literature/openalex.ts";
import { REQUEST_SETTINGS } from "./literature/request.ts";

const { dataDir, sandbox, limits, models, research, literature } = loadConfig();
const files = createThreadFiles({ dataDir });
const codeTimeoutMs = limits.command_timeout_seconds * 1000;
const sandboxes = createSandboxes({
  provider: sandbox,
  dataDir,
  files,
  idleMs: limits.sandbox_idle_seconds * 1000,
  limits: { timeoutMs: codeTimeoutMs, maxMemoryBytes: limits.command_memory_mb * 1024 ** 2 },
});
const requests = {
  ...REQUEST_SETTINGS,
  timeoutMs: research.literature_timeout_seconds * 1000,
  retries: research.literature_retries,
  mailto: literature.mailto,
};

export const graph = createResearch({
  files,
  sandboxes,
  models: createModels(models, (messages, tools) => {
    const text = demoResearch(messages);
    return text === undefined ? nextStep(messages, tools) : { text };
  }),
  providers: [
    createOpenAlex({ baseUrl: literature.openAlexUrl, settings: requests }),
    createArxiv({
      baseUrl: literature.arxivUrl,
      paceMs: research.arxiv_pace_seconds * 1000,
      settings: requests,
    }),
  ],
  settings: {
    mode: research.mode,
    iterations: research.iterations,
    codeTimeoutMs,
    limits: {
      ...READ_LIMITS,
      maxBytes: research.max_file_mb * 1024 ** 2,
      maxRows: research.max_rows,
      maxPages: research.max_pages,
      seconds: research.read_seconds,
      memoryMb: research.read_memory_mb,
    },
  },
});

/** Called when the server stops: code that still runs is killed, scratch folders are removed. */
export const close = () => sandboxes.close();
