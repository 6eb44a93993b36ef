// The pool of sandboxes: kit's `Sandboxes`. Opens a thread's sandbox at first use, keeps it while it is used,
// releases it when it has been idle, and kills everything on close. What runs the commands is a provider.
import { AppError } from "../errors.ts";
import type { Sandbox, Sandboxes } from "../kit/sandbox.ts";
import type { ThreadFiles } from "../kit/thread-files.ts";
import { chooseProvider, type ProviderName } from "./choose-provider.ts";
import { DEFAULT_LIMITS, type SandboxLimits } from "./provider.ts";
import { sweepScratch } from "./sandbox-folders.ts";
import { openSession, type Session } from "./session.ts";

export interface SandboxesOptions {
  readonly provider: ProviderName;
  /** Absolute; the same as that of `files`. */
  readonly dataDir: string;
  readonly files: ThreadFiles;
  /** Milliseconds without a command after which a sandbox is released. */
  readonly idleMs?: number;
  readonly limits?: Partial<SandboxLimits>;
  /**
   * Host folders that no command may see beside DATA_DIR, wherever they lie. The folder the server was started in
   * unless set: settings and code are there.
   */
  readonly hidden?: readonly string[];
}

const IDLE_MS = 10 * 60 * 1000;

interface Entry {
  readonly session: Promise<Session>;
  /** The same, once it is there. */
  opened?: Session;
  idle?: NodeJS.Timeout;
  released?: Promise<void>;
}

export function createSandboxes(options: SandboxesOptions): Sandboxes {
  const { dataDir, files, idleMs = IDLE_MS } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const entries = new Map<string, Entry>();
  let isClosed = false;
  const hidden = options.hidden ?? [process.cwd()];
  const provider = once(() => chooseProvider(options.provider, { dataDir, files, limits, hidden }));
  const sweep = once(() => sweepScratch(dataDir, Date.now()));

  async function open(threadId: string, onQuiet: () => void): Promise<Session> {
    const chosen = await provider.get();
    await sweep.get();
    return openSession({ provider: chosen, dataDir, files, threadId, limits, onQuiet });
  }

  function startIdling(threadId: string, entry: Entry): void {
    clearTimeout(entry.idle);
    if (entry.released !== undefined) return;
    entry.idle = setTimeout(() => {
      // Started in the meantime; when it has ended, the time begins anew.
      if (entry.opened?.isBusy() === true) return;
      // A scratch folder that could not be removed must not end the process.
      release(threadId).catch(() => {});
    }, idleMs).unref();
  }

  async function acquire(threadId: string): Promise<Sandbox> {
    if (isClosed) throw new AppError("shutting_down", "The server is stopping.");
    const existing = entries.get(threadId);
    if (existing !== undefined) {
      if (existing.released === undefined && (await (await existing.session).isIntact())) {
        startIdling(threadId, existing);
        return (await existing.session).sandbox;
      }
      await release(threadId);
      return acquire(threadId);
    }
    const entry: Entry = { session: open(threadId, () => startIdling(threadId, entry)) };
    entries.set(threadId, entry);
    try {
      entry.opened = await entry.session;
    } catch (error) {
      // Whoever asked at the same time gets the same failure; the next one tries anew.
      entries.delete(threadId);
      throw error;
    }
    startIdling(threadId, entry);
    return entry.opened.sandbox;
  }

  function release(threadId: string): Promise<void> {
    const entry = entries.get(threadId);
    if (entry === undefined) return Promise.resolve();
    clearTimeout(entry.idle);
    // Kept in the map until it is closed: the next acquire waits and does not share the scratch folder.
    entry.released ??= entry.session
      .then(
        (session) => session.close(),
        () => undefined,
      )
      .finally(() => entries.delete(threadId));
    return entry.released;
  }

  return {
    describe: async () => (await provider.get()).description,
    acquire,
    current(threadId) {
      const entry = entries.get(threadId);
      return entry?.released === undefined ? entry?.opened?.sandbox : undefined;
    },
    release,
    async close() {
      isClosed = true;
      await Promise.all([...entries.keys()].map(release));
      await provider.current()?.then((chosen) => chosen.close());
    },
  };
}

/** Does `work` at the first `get`; all share its result, but a failure is tried again. */
function once<T>(work: () => Promise<T>) {
  let result: Promise<T> | undefined;
  return {
    get(): Promise<T> {
      result ??= work().catch((error: unknown) => {
        result = undefined;
        throw error;
      });
      return result;
    },
    current: () => result,
  };
}
