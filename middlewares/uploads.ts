// Tells the model of files that are new in this turn (document 000, "uploaded_files"): those that no earlier
// message of the user lists. The list goes into the last message and nowhere else; `uploaded_files` holds the
// same files until the next turn.
import { extname } from "node:path/posix";
import { isDeepStrictEqual } from "node:util";
import { HumanMessage } from "@langchain/core/messages";
import { createMiddleware } from "langchain";
import {
  type FileInfo,
  type ThreadFiles,
  ThreadState,
  threadIdOf,
  type UploadedFile,
  uploadsShownIn,
  withUploadsBlock,
} from "#kit";

interface UploadsOptions {
  readonly files: Pick<ThreadFiles, "list">;
}

const UPLOADS = "/mnt/user-data/uploads";

export function createUploads({ files }: UploadsOptions) {
  return createMiddleware({
    name: "uploads",
    stateSchema: ThreadState.pick("uploaded_files").schema,
    beforeAgent: async (state, runtime) => {
      const last = state.messages.at(-1);
      // Without a message of the user there is nowhere to tell of a file: it stays new for the next turn.
      const isTurn = HumanMessage.isInstance(last);
      const uploaded_files = isTurn
        ? await listNew(files, threadIdOf(runtime), state.messages.slice(0, -1))
        : [];
      const isListed = last !== undefined && isDeepStrictEqual(uploadsShownIn(last), uploaded_files);
      const messages = isTurn && !isListed ? [withUploadsBlock(last, uploaded_files)] : [];
      if (messages.length === 0 && isDeepStrictEqual(state.uploaded_files ?? [], uploaded_files))
        return undefined;
      return { uploaded_files, messages };
    },
  });
}

async function listNew(
  files: UploadsOptions["files"],
  threadId: string,
  earlier: readonly Parameters<typeof uploadsShownIn>[0][],
): Promise<UploadedFile[]> {
  const shown = new Set(earlier.flatMap(uploadsShownIn).map(({ filename }) => filename));
  const entries = await files.list(threadId, UPLOADS, { depth: 1 });
  return entries.filter(({ type, name }) => type === "file" && !shown.has(name)).map(toUploadedFile);
}

function toUploadedFile({ name, size, path }: FileInfo): UploadedFile {
  return { filename: name, size, path, extension: extname(name) };
}
