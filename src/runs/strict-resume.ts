// `strict_resume`: a command that answers an interrupt which is not waiting runs nothing.
import type { Graph } from "../graphs/graph.ts";
import type { ClaimedRun, RunError } from "./runs.sql.ts";

/** What the newer SDKs know it by. */
export class UnknownInterruptError extends Error {
  readonly interruptIds: readonly string[];
  /** What waits, by task. */
  readonly pending: Readonly<Record<string, readonly { id?: string | undefined }[]>>;

  constructor(interruptIds: readonly string[], pending: UnknownInterruptError["pending"]) {
    super(
      interruptIds.length === 0
        ? "No interrupt is waiting for an answer."
        : `No interrupt with the id ${interruptIds.join(", ")} is waiting for an answer.`,
    );
    this.name = "UnknownInterruptError";
    this.interruptIds = interruptIds;
    this.pending = pending;
  }

  toRunError(): RunError {
    const pendingIds = Object.values(this.pending).flatMap((all) => all.map(({ id }) => id));
    return {
      error: this.name,
      message: this.message,
      reason: "unknown_interrupt",
      interrupt_ids: this.interruptIds,
      pending_ids: pendingIds,
    };
  }
}

/** @throws UnknownInterruptError */
export async function checkResume(graph: Graph, { thread_id, kwargs }: ClaimedRun): Promise<void> {
  const { resume } = kwargs.command ?? {};
  if (!kwargs.strict_resume || resume === undefined) return;
  const { tasks } = await graph.getState({ configurable: { ...kwargs.checkpoint, thread_id } });
  const waiting = tasks.filter((task) => task.interrupts.length > 0);
  const pending = Object.fromEntries(waiting.map((task) => [task.id, task.interrupts]));
  const ids = new Set(waiting.flatMap((task) => task.interrupts.map(({ id }) => id)));
  const unknown = toIds(resume).filter((id) => !ids.has(id));
  if (unknown.length > 0 || ids.size === 0) throw new UnknownInterruptError(unknown, pending);
}

/** LangGraph takes an object for answers by id when all its keys look like ids of interrupts. */
function toIds(resume: unknown): string[] {
  const keys = typeof resume === "object" && resume !== null ? Object.keys(resume) : [];
  return keys.every((key) => /^[0-9a-f]{32}$/.test(key)) ? keys : [];
}
