// The answer of a command to what waits in its thread. `strict_resume`: one that nobody waits for runs nothing.
import type { Graph } from "../graphs/graph.ts";
import type { RunCommand } from "./run-kwargs.ts";
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

/**
 * The command as LangGraph is to get it. It overlooks an answer that is false, 0 or "", unless it is given by the
 * interrupt's id.
 * @throws UnknownInterruptError
 */
export async function withAnswer(
  graph: Graph,
  command: RunCommand,
  { thread_id, kwargs }: ClaimedRun,
): Promise<RunCommand> {
  const { resume } = command;
  const isOverlooked = resume === false || resume === 0 || resume === "";
  if (resume === undefined || !(kwargs.strict_resume || isOverlooked)) return command;
  const { tasks } = await graph.getState({ configurable: { ...kwargs.checkpoint, thread_id } });
  const waiting = tasks.filter((task) => task.interrupts.length > 0);
  const ids = waiting.flatMap((task) => task.interrupts.flatMap(({ id }) => id ?? []));
  if (kwargs.strict_resume) {
    const pending = Object.fromEntries(waiting.map((task) => [task.id, task.interrupts]));
    const unknown = toIds(resume).filter((id) => !ids.includes(id));
    if (unknown.length > 0 || ids.length === 0) throw new UnknownInterruptError(unknown, pending);
  }
  if (!isOverlooked || ids.length === 0) return command;
  return { ...command, resume: Object.fromEntries(ids.map((id) => [id, resume])) };
}

/** LangGraph takes an object for answers by id when all its keys look like ids of interrupts. */
function toIds(resume: unknown): string[] {
  const keys = typeof resume === "object" && resume !== null ? Object.keys(resume) : [];
  return keys.every((key) => /^[0-9a-f]{32}$/.test(key)) ? keys : [];
}
