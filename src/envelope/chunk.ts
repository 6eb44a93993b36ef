// One thing that a graph streams, whoever has it: a stream that runs, or a log.
import { isFields } from "../events/fields.ts";
import { toSha256 } from "../events/state-pointer.ts";

export interface Chunk {
  /** LangGraph's stream modes; and what `streamEvents` tells more exactly: `model`, `graph_end`, `error`. */
  readonly mode: string;
  readonly namespace: readonly string[];
  /** The data, as plain JSON data; read only of chunks that say something. */
  read(): unknown;
  /** SHA-256 of the JSON of a state. */
  digest(): string | null;
  /** Whether it is a state with nothing in it but interrupts. */
  isInterrupt(): boolean;
}

/** A chunk of data that is read when it is needed, once. */
export function toChunk(mode: string, namespace: readonly string[], toData: () => unknown): Chunk {
  let known: { readonly data: unknown } | undefined;
  const read = () => {
    known ??= { data: toData() };
    return known.data;
  };
  return {
    mode,
    namespace,
    read,
    digest() {
      const data = read();
      return toSha256(JSON.stringify(isFields(data) && mode === "checkpoints" ? data.values : data) ?? "");
    },
    isInterrupt() {
      const data = read();
      return isFields(data) && Object.keys(data).join() === "__interrupt__";
    },
  };
}

/** What a chunk of the mode `debug` says, as the modes `tasks` and `checkpoints` say it. */
export function toDebugged({ namespace, read }: Chunk): Chunk[] {
  const data = read();
  if (!isFields(data)) return [];
  const mode = data.type === "checkpoint" ? "checkpoints" : "tasks";
  return [toChunk(mode, namespace, () => data.payload)];
}
