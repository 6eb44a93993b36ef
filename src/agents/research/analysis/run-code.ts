// Runs the code of an analysis in the thread's sandbox. A run that is repeated after a crash does the same again, in
// the same folders: nothing else of the thread is touched.
import type { ExecuteResult, Sandboxes, ThreadFiles } from "#kit";
import { TaskFailure } from "../task-result.ts";

export const LANGUAGES = ["python", "bash"] as const;
export type Language = (typeof LANGUAGES)[number];

const SCRIPTS = {
  python: { file: "analysis.py", command: "python3" },
  bash: { file: "analysis.sh", command: "bash" },
} as const;

const MAX_OUTPUT_CHARS = 12_000;
const MAX_ARTIFACTS = 20;

export interface CodeRun {
  readonly language: Language;
  readonly code: string;
  readonly exitCode: number;
  readonly output: string;
}

export interface CodeRunner {
  /** Languages of this sandbox, and what else a model should know of it. */
  describe(
    threadId: string,
    signal?: AbortSignal,
  ): Promise<{ languages: readonly Language[]; lacks: readonly string[] }>;
  run(place: Place, script: { language: Language; code: string }, signal?: AbortSignal): Promise<CodeRun>;
  /** Virtual paths of the files that the code has left in its folder of outputs. */
  artifacts(place: Place): Promise<string[]>;
}

interface Place {
  readonly threadId: string;
  readonly taskId: string;
}

/** Where the code of a task may put files for the user. */
export const outputsOf = (taskId: string) => `/mnt/user-data/outputs/${taskId}`;
const workspaceOf = (taskId: string) => `/mnt/user-data/workspace/research/${taskId}`;

export function createCodeRunner(deps: {
  readonly files: ThreadFiles;
  readonly sandboxes: Sandboxes;
  readonly timeoutMs: number;
}): CodeRunner {
  const { files, sandboxes, timeoutMs } = deps;
  return {
    async describe(threadId, signal) {
      const { lacks } = await sandboxes.describe();
      const sandbox = await sandboxes.acquire(threadId);
      const { exit_code } = await sandbox.execute("python3 -c 'print(1)'", {
        timeoutMs: 20_000,
        ...(signal && { signal }),
      });
      return { languages: exit_code === 0 ? LANGUAGES : ["bash"], lacks };
    },
    async run({ threadId, taskId }, { language, code }, signal) {
      const { file, command } = SCRIPTS[language];
      const folder = workspaceOf(taskId);
      await files.write(threadId, `${folder}/${file}`, code);
      const sandbox = await sandboxes.acquire(threadId);
      const script = `mkdir -p ${outputsOf(taskId)} && cd ${folder} && ${command} ${file}`;
      const result = await sandbox.execute(script, {
        timeoutMs,
        maxOutputChars: MAX_OUTPUT_CHARS,
        ...(signal && { signal }),
      });
      signal?.throwIfAborted();
      return { language, code, exitCode: result.exit_code, output: toOutput(result, timeoutMs) };
    },
    async artifacts({ threadId, taskId }) {
      const found = await files.list(threadId, outputsOf(taskId), { depth: 3 }).catch(() => []);
      const paths = found.filter(({ type }) => type === "file").map(({ path }) => path);
      return paths.sort().slice(0, MAX_ARTIFACTS);
    },
  };
}

function toOutput({ output, timed_out }: ExecuteResult, timeoutMs: number): string {
  return timed_out ? `${output}\nIt was ended after ${timeoutMs / 1000} seconds.` : output;
}

/** What became of an analysis whose code never ran to its end. */
export function toFailure(runs: readonly CodeRun[]): TaskFailure {
  const last = runs.at(-1);
  const said = last?.output.trim().slice(-500).toWellFormed() || "nothing";
  return new TaskFailure(
    `The code of the analysis failed ${runs.length} times; at last with exit code ${last?.exitCode}, saying: ${said}`,
  );
}
