// The file-upload subagent: finds the uploads that the conversation does not know yet, and reads each as a task of its
// own. One that cannot be read is a dataset with its reason. It returns datasets; whoever called it updates.
import { createHash } from "node:crypto";
import { END, type LangGraphRunnableConfig, Send, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";
import { defineState, type FileInfo, type ThreadFiles, threadIdOf } from "#kit";
import { isAppError } from "../../../errors.ts";
import { createGate } from "../../../sandbox/gate.ts";
import { type Dataset, datasetSchema } from "../research-state.ts";
import { type FileReport, type ReadLimits, UnreadableFile } from "./file-report.ts";
import { readUpload } from "./read-upload.ts";

const UPLOADS = "/mnt/user-data/uploads";
/** Where a converted form is put, for commands that cannot read the file itself. */
const CONVERTED = "/mnt/user-data/workspace/datasets";
/** Files that are read at once in this process: each may take the memory of its bound. */
const AT_ONCE = 2;

const foundSchema = z.object({ id: z.string(), filename: z.string(), path: z.string(), size: z.number() });
type Found = z.output<typeof foundSchema>;

const State = defineState({
  /** Ids of the datasets that are known. */
  known: { type: z.array(z.string()) },
  found: { type: z.array(foundSchema) },
  datasets: { type: z.array(datasetSchema).default([]) },
});

export function createFileUpload({
  files,
  limits,
}: {
  readonly files: ThreadFiles;
  readonly limits: ReadLimits;
}) {
  const gate = createGate(AT_ONCE);
  const never = new AbortController().signal;

  async function read(threadId: string, { path, filename }: Found, signal = never): Promise<FileReport> {
    const bytes = await files.read(threadId, path, { maxBytes: limits.maxBytes }).catch((error: unknown) => {
      if (isAppError(error, "payload_too_large")) throw tooLarge(limits);
      if (isAppError(error, "file_not_found") || isAppError(error, "file_not_regular")) {
        throw new UnreadableFile("It is not there any more.");
      }
      throw error;
    });
    return gate.pass(signal, () => readUpload({ filename, bytes }, limits, signal));
  }

  async function readOne({ file }: { file: Found }, config: LangGraphRunnableConfig) {
    const threadId = threadIdOf(config);
    const { id, filename, path, size } = file;
    const report = await read(threadId, file, config.signal).catch((error: unknown) => {
      if (error instanceof UnreadableFile) return error;
      throw error;
    });
    if (report instanceof UnreadableFile) {
      const { message } = report;
      const dataset: Dataset = {
        filename,
        id,
        size,
        description: `It could not be read. ${message}`,
        error: message,
      };
      return { datasets: [dataset] };
    }
    const { converted } = report;
    const readable = converted ? `${CONVERTED}/${filename}${converted.extension}` : path;
    if (converted) await files.write(threadId, readable, converted.text);
    return { datasets: [toDataset(file, report, readable)] };
  }

  const graph = new StateGraph(State.annotation)
    .addNode("find", async ({ known }, config: LangGraphRunnableConfig) => {
      const threadId = threadIdOf(config);
      await files.ensure(threadId);
      const list = await files.list(threadId, UPLOADS);
      const found = list.filter(({ type }) => type === "file").map(toFound);
      return { found: found.filter(({ id }) => !known?.includes(id)) };
    })
    .addNode("read_file", readOne as never)
    .addEdge(START, "find")
    .addConditionalEdges(
      "find",
      ({ found }) => (found?.length ? found.map((file) => new Send("read_file", { file })) : END),
      ["read_file", END],
    )
    .addEdge("read_file", END)
    .compile({ name: "file_upload" });
  return {
    graph,
    run: async (known: readonly string[], config: LangGraphRunnableConfig): Promise<Dataset[]> =>
      (await graph.invoke({ known: [...known] }, config)).datasets ?? [],
  };
}

/** The same file has the same id, one that has been put in its place another. */
function toFound({ name, path, size, modified_at }: FileInfo): Found {
  const hash = createHash("sha256").update(JSON.stringify([name, size, modified_at.getTime()]));
  return { id: hash.digest("hex").slice(0, 16), filename: name, path, size };
}

function toDataset({ id, filename, size }: Found, report: FileReport, path: string): Dataset {
  const { description, preview, tables, cut } = report;
  const [table] = tables.toSorted((one, other) => other.rows - one.rows);
  return {
    filename,
    id,
    size,
    path,
    description: [description, ...cut].join(" "),
    content: preview,
    ...(table && { columns: table.columns.map(({ name, type }) => ({ name, type })) }),
  };
}

const tooLarge = ({ maxBytes }: ReadLimits) =>
  new UnreadableFile(`It is larger than ${Math.floor(maxBytes / 1024 ** 2)} MiB.`);
