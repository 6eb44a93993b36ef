// What literature and analysis have in common: what a task is given, and what it returns.
import type { RemovedCitation } from "./citations.ts";
import type { Material } from "./knowledge.ts";
import type { Dataset, Reference, Task } from "./research-state.ts";

export interface TaskInput {
  readonly task: Task;
  readonly question: string;
  /** Those of the task, all that can be read when it names none. */
  readonly datasets: readonly Dataset[];
  /** What tasks of lower levels have found. */
  readonly before: Material["tasks"];
}

export interface TaskResult {
  readonly output: string;
  readonly references: readonly Reference[];
  /** Virtual paths. */
  readonly artifacts: readonly string[];
  readonly removed: readonly RemovedCitation[];
}

/** A task that came to nothing. The message is for a person; the research goes on without it. */
export class TaskFailure extends Error {
  override readonly name = "TaskFailure";
}
