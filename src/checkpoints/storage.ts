// Where a thread's named checkpoints are kept: the document's CheckpointStorage. Each implementation passes
// test/conformance/checkpoint-storage-suite.ts.
import type { WorkflowCheckpoint } from "./workflow-checkpoint.ts";

/**
 * The storage of one thread; another thread's checkpoints are not seen through it. What is saved is a copy, and what is
 * loaded is one. A storage that does not answer throws: only what is not there is undefined or false.
 */
export interface CheckpointStorage {
  /** Whole or not at all; one with the same id is replaced. */
  save(checkpoint: WorkflowCheckpoint): Promise<void>;
  /** @throws AppError checkpoint_unreadable */
  load(checkpointId: string): Promise<WorkflowCheckpoint | undefined>;
  /** The newest first. */
  listIds(filter?: Omit<ListFilter, "limit" | "offset">): Promise<string[]>;
  /** The newest first. @throws AppError checkpoint_unreadable */
  list(filter?: ListFilter): Promise<WorkflowCheckpoint[]>;
  /** False when there was none. */
  delete(checkpointId: string): Promise<boolean>;
}

export interface ListFilter {
  readonly workflowId?: string | undefined;
  /** Only those that nobody has asked for. */
  readonly isAutomatic?: boolean | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

/** Keeps the checkpoints of all threads; opened for one at a time. */
export interface CheckpointBackend<Scope = unknown> {
  open(place: { threadId: string; scope?: Scope }): CheckpointStorage;
  /** A thread that is gone from the database. */
  removeThread(threadId: string): Promise<void>;
  close(): Promise<void>;
}
