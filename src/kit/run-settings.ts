// What a client sets for one run. Newer clients send it as `context`, older ones as `configurable`; the context wins.

interface RunInformation {
  readonly context?: unknown;
  readonly configurable?: unknown;
}

/** The value of a run's setting, unchecked; undefined when the run has none. */
export function runSetting({ context, configurable }: RunInformation, key: string): unknown {
  return read(context, key) ?? read(configurable, key);
}

/** @throws Error when the run belongs to no thread */
export function threadIdOf(run: RunInformation): string {
  const threadId = read(run.configurable, "thread_id");
  if (typeof threadId === "string" && threadId !== "") return threadId;
  throw new Error("This agent keeps files per thread, so a run needs configurable.thread_id.");
}

function read(record: unknown, key: string): unknown {
  return typeof record === "object" && record !== null ? (record as Record<string, unknown>)[key] : undefined;
}
