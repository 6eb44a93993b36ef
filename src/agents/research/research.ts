// The graph "research" of langgraph.json, wired by hand from the process's settings, as lead.ts is.
import { loadConfig } from "../../config.ts";
import { nextStep } from "../demo-script.ts";
import { createModels } from "../models.ts";
import { commandTimeoutMs, files, sandboxes } from "../workplace.ts";
import { createResearch } from "./create-research.ts";
import { demoResearch } from "./demo-research.ts";
import { READ_LIMITS } from "./files/file-report.ts";
import { createArxiv } from "./literature/arxiv.ts";
import { createOpenAlex } from "./literature/openalex.ts";
import { REQUEST_SETTINGS } from "./literature/request.ts";

const { models, research, literature } = loadConfig();
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
    codeTimeoutMs: commandTimeoutMs,
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

export { close } from "../workplace.ts";
