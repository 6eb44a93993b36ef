// One thread's sandbox while it is open: its folders, the commands that run in it, and its end.
import { access } from "node:fs/promises";
import { AppError } from "../errors.ts";
import type { ExecuteOptions, ExecuteResult, Sandbox } from "../kit/sandbox.ts";
import type { ThreadFiles } from "../kit/thread-files.ts";
import { createGate } from "./gate.ts";
import type { Provider, SandboxLimits } from "./provider.ts";
import { prepareFolders, removeScratch, touchScratch } from "./sandbox-folders.ts";

/** Commands of one thread that run at once; a model that asks for more waits. */
const MAX_PARALLEL = 8;

export interface Session {
  readonly sandbox: Sandbox;
  isBusy(): boolean;
  /** False when its folders have gone, as they do when the thread is deleted. */
  isIntact(): Promise<boolean>;
  /** Kills what runs, waits until it is gone, and removes the scratch folder. */
  close(): Promise<void>;
}

export async function openSession(options: {
  provider: Provider;
  dataDir: string;
  files: ThreadFiles;
  threadId: string;
  limits: SandboxLimits;
  /** Called when the last running command has ended. */
  onQuiet: () => void;
}): Promise<Session> {
  const { provider, dataDir, files, threadId, limits, onQuiet } = options;
  const folders = await prepareFolders(dataDir, files, threadId);
  const running = new Set<Promise<unknown>>();
  const closing = new AbortController();
  const gate = createGate(MAX_PARALLEL);
  const opened = await provider.open(folders).catch(async (error: unknown) => {
    await removeScratch(folders.scratch);
    throw error;
  });

  async function execute(command: string, { timeoutMs, signal, stdin, maxOutputChars }: ExecuteOptions) {
    if (command.includes("\0")) throw new AppError("invalid_request", "The command has a NUL in it.");
    await touchScratch(folders.scratch, new Date()).catch((error: unknown) => {
      throw new AppError("sandbox_unavailable", "The thread's folders have been removed.", { cause: error });
    });
    const stop = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal]);
    return gate.pass(stop, () =>
      opened.execute({
        command,
        stdin: stdin ?? "",
        timeoutMs: timeoutMs ?? limits.timeoutMs,
        maxOutputChars: maxOutputChars ?? limits.maxOutputChars,
        signal: stop,
      }),
    );
  }

  return {
    sandbox: {
      id: `${provider.description.name}:${threadId}`,
      async execute(command, executeOptions = {}): Promise<ExecuteResult> {
        if (closing.signal.aborted) {
          throw new AppError("sandbox_unavailable", "The sandbox has been released; acquire it again.");
        }
        const work = execute(command, executeOptions);
        running.add(work);
        try {
          return await work;
        } finally {
          running.delete(work);
          if (running.size === 0) onQuiet();
        }
      },
    },
    isBusy: () => running.size > 0,
    isIntact: () =>
      access(folders.scratch).then(
        () => true,
        () => false,
      ),
    async close() {
      closing.abort();
      await Promise.allSettled(running);
      await opened.close();
      await removeScratch(folders.scratch);
    },
  };
}
