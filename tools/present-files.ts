// `present_files`: shows results to the user, by adding them to the state's artifacts.
import { z } from "zod";
import { defineTool, type ThreadFiles, ThreadState } from "#kit";

interface PresentFilesOptions {
  readonly files: ThreadFiles;
}

const OUTPUTS = "/mnt/user-data/outputs/";

export function createPresentFilesTool({ files }: PresentFilesOptions) {
  return defineTool({
    name: "present_files",
    description:
      "Shows files to the user, who can open and download them. Only files in /mnt/user-data/outputs; call it " +
      "when they are complete.",
    schema: z.object({
      file_paths: z.array(z.string()).min(1).max(100).describe("Files in /mnt/user-data/outputs."),
    }),
    state: ThreadState,
    outputsToState: { artifacts: {} },
    async run({ file_paths }, { threadId }) {
      const paths = new Set<string>();
      for (const path of file_paths) paths.add(await presentable(path, threadId));
      return [...paths];
    },
    toContent: (paths) => `Shown to the user: ${paths.join(", ")}`,
  });

  /** The path as clients will ask for it. Opened, because what is shown must also be downloadable. */
  async function presentable(path: string, threadId: string): Promise<string> {
    const file = await files.open(threadId, path);
    await file.close();
    if (file.info.path.startsWith(OUTPUTS)) return file.info.path;
    throw new Error(`${file.info.path} is not in ${OUTPUTS}: copy it there first.`);
  }
}
