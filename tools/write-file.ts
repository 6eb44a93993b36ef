// `write_file`: writes a text file as a whole, or adds to its end.
import { z } from "zod";
import { defineTool, type ThreadFiles } from "#kit";

interface WriteFileOptions {
  readonly files: ThreadFiles;
  /** Of one call's content; a longer file is written in several. */
  readonly maxBytes?: number;
}

export function createWriteFileTool({ files, maxBytes = 80 * 1024 }: WriteFileOptions) {
  return defineTool({
    name: "write_file",
    description:
      "Writes a text file; missing folders are made, and a file of that name is replaced unless append is set. " +
      `At most ${maxBytes} bytes in one call: write the beginning first and append the rest. To change a part ` +
      "of a file use str_replace.",
    schema: z.object({
      description: z.string().optional().describe("In a few words, why you write the file."),
      path: z
        .string()
        .describe("A file under /mnt/user-data; results for the user under /mnt/user-data/outputs."),
      content: z.string().describe("The text."),
      append: z.boolean().optional().describe("Add to the end of the file."),
    }),
    async run({ path, content, append = false }, { threadId }) {
      const bytes = Buffer.byteLength(content);
      if (bytes > maxBytes) {
        throw new Error(
          `The content has ${bytes} bytes, more than ${maxBytes}. Write a part, then the rest with append.`,
        );
      }
      const info = await files.write(threadId, path, content, { append });
      const verb = append ? "Added" : "Wrote";
      return `${verb} ${bytes} bytes; ${info.path} has ${info.size} bytes.`;
    },
  });
}
