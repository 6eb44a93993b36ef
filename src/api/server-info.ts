// What GET /info and GET /models say.

/** `flags` as the LangGraph clients read them; `heddle` is ours. */
export interface ServerInfo {
  readonly version: string;
  readonly langgraph_js_version: string;
  readonly context: "js";
  readonly flags: { readonly assistants: boolean; readonly crons: boolean; readonly langsmith: boolean };
  readonly heddle: {
    readonly version: string;
    readonly graphs: readonly string[];
    readonly sandbox: { readonly name: string; readonly lacks: readonly string[]; readonly warning?: string };
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
