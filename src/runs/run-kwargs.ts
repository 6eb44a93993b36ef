// What a run was asked to do, as it is stored and shown (`kwargs` of the LangGraph API).

export const STREAM_MODES = [
  "values",
  "updates",
  "messages",
  "messages-tuple",
  "events",
  "debug",
  "tasks",
  "checkpoints",
  "custom",
  "tools",
] as const;
export type StreamMode = (typeof STREAM_MODES)[number];

export interface RunConfig {
  readonly tags?: readonly string[] | undefined;
  readonly recursion_limit?: number | undefined;
  readonly configurable?: Record<string, unknown> | undefined;
  readonly metadata?: Record<string, unknown> | undefined;
  readonly [key: string]: unknown;
}

/** `command` of a run request: go on from an interrupt, jump, or update. */
export interface RunCommand {
  readonly update?: unknown;
  readonly resume?: unknown;
  readonly goto?: unknown;
}

export interface RunKwargs {
  readonly input: unknown;
  readonly command?: RunCommand | undefined;
  readonly config: RunConfig;
  readonly context?: unknown;
  readonly stream_mode: readonly StreamMode[];
  readonly stream_subgraphs: boolean;
  readonly interrupt_before?: "*" | readonly string[] | undefined;
  readonly interrupt_after?: "*" | readonly string[] | undefined;
  readonly checkpoint?:
    | { checkpoint_id?: string | undefined; checkpoint_ns?: string | undefined; checkpoint_map?: unknown }
    | undefined;
  /** An http(s) URL, or a path on this server, to tell of the run's end. */
  readonly webhook?: string | undefined;
  readonly strict_resume?: boolean | undefined;
  /** The graph's stream transformers watch the run, as the newer thread protocol has it. */
  readonly transform?: boolean | undefined;
  /** The run has no thread of its own: when it has ended, its thread is deleted. */
  readonly temporary: boolean;
}
