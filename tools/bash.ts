// `bash`: runs a command in the thread's sandbox. What a command may do is the sandbox's; this is only its face.
import { z } from "zod";
import { defineTool, type ExecuteResult, type Sandboxes } from "#kit";

interface BashOptions {
  readonly sandboxes: Sandboxes;
  /** Milliseconds until a command and all it started is killed. */
  readonly timeoutMs?: number;
  readonly maxOutputChars?: number;
}

export function createBashTool({ sandboxes, timeoutMs = 600_000, maxOutputChars = 20_000 }: BashOptions) {
  return defineTool({
    name: "bash",
    description:
      "Runs a bash command and returns its output. It starts in /mnt/user-data/workspace; uploads are in " +
      "/mnt/user-data/uploads, results for the user belong into /mnt/user-data/outputs. /tmp is kept between " +
      "commands. Nothing goes on running after a command has ended, and there is no input to type. Long output " +
      "is cut in the middle: write it to a file and read what you need.",
    schema: z.object({
      description: z.string().optional().describe("In a few words, why you run the command."),
      command: z.string().describe("The command. Use absolute paths under /mnt/user-data."),
    }),
    async run({ command }, { threadId, signal }) {
      const sandbox = await sandboxes.acquire(threadId);
      const result = await sandbox.execute(command, { timeoutMs, maxOutputChars, signal });
      signal?.throwIfAborted();
      return [result.output.trimEnd(), await outcomeOf(result)].filter((part) => part !== "").join("\n");
    },
  });

  async function outcomeOf({ exit_code, output, timed_out }: ExecuteResult): Promise<string> {
    if (timed_out) return `[ended after ${timeoutMs / 1000} s, with all that it had started]`;
    if (exit_code === 0) return output.trim() === "" ? "[no output, exit code 0]" : "";
    if (exit_code !== 127) return `[exit code ${exit_code}]`;
    // Not found: then the model should know what it need not try next.
    const { lacks } = await sandboxes.describe();
    return `[exit code 127; this sandbox has ${lacks.join("; ")}]`;
  }
}
