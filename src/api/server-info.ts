// What GET /info and GET /models say.

/** `flags` as the LangGraph clients read them; `heddle` is ours. */
export interface ServerInfo {
  readonly version: string;
  readonly langgraph_js_version: string;
  readonly context: "js";
  readonly flags: {
    readonly assistants: boolean;
    readonly crons: boolean;
    readonly langsmith: boolean;
    /** Whether a run's stream can be limited to some of its graphs. */
    readonly stream_namespaces: boolean;
    /** Whether a run can be refused that answers an interrupt which does not wait. */
    readonly strict_resume: boolean;
  };
  readonly heddle: {
    readonly version: string;
    readonly graphs: readonly string[];
    /** Those of langgraph.json that could not be loaded: no host path is in `file` or `reason`. */
    readonly failed_graphs: readonly {
      readonly id: string;
      readonly file: string;
      readonly reason: string;
    }[];
    readonly sandbox: { readonly name: string; readonly lacks: readonly string[]; readonly warning?: string };
    /** What searches the store by similarity; null: `store.index` is not set. */
    readonly store: { readonly search: "pgvector" | "exact" | null };
  };
}

export interface ModelInfo {
  /** What `configurable.model_name` takes. */
  readonly name: string;
  /** What the endpoint calls it. */
  readonly model: string;
  readonly supports_vision: boolean;
  readonly is_default: boolean;
}
