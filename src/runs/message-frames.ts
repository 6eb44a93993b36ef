// The events of the stream mode `messages`: a message as it grows (`messages/partial`, all of it so far, and its
// `messages/metadata` before the first), and as it is in the state (`messages/complete`), each once.
import {
  type BaseMessage,
  type BaseMessageChunk,
  isBaseMessage,
  isBaseMessageChunk,
} from "@langchain/core/messages";
import type { Chunk, Frame } from "./graph-chunks.ts";

/** What LangGraph tells about a chunk of its mode `messages`. */
interface Origin {
  readonly tags?: readonly string[];
  readonly name?: string;
  readonly langgraph_step?: number;
}

/** For one attempt of a run: remembers what it has seen. */
export function createMessageFrames(): (chunk: Chunk) => Frame[] {
  const growing = new Map<string, BaseMessageChunk>();
  const complete = new Set<string>();

  const grow = (message: BaseMessage, { tags = [], name: _, ...metadata }: Origin): Frame[] => {
    const { id } = message;
    if (id === undefined || !isBaseMessageChunk(message) || tags.includes("langsmith:hidden")) return [];
    // What a node returned, not what a model is saying: it comes with the state.
    if (tags.includes(`graph:step:${metadata.langgraph_step}`)) return [];
    const before = growing.get(id);
    const whole = before ? before.concat(message) : message;
    growing.set(id, whole);
    const frames = [{ event: "messages/partial", data: [whole] }];
    return before ? frames : [{ event: "messages/metadata", data: { [id]: { metadata } } }, ...frames];
  };

  const finish = (state: unknown): Frame[] => {
    if (typeof state !== "object" || state === null || !("messages" in state)) return [];
    const added = [state.messages].flat().filter((message): message is { id: string } => {
      const id = message && typeof message === "object" && "id" in message ? message.id : undefined;
      if (typeof id !== "string" || complete.has(id)) return false;
      complete.add(id);
      growing.delete(id);
      return true;
    });
    return added.length === 0 ? [] : [{ event: "messages/complete", data: added }];
  };

  return ({ mode, data }) => {
    if (mode === "values") return finish(data);
    if (mode !== "messages" || !Array.isArray(data) || !isBaseMessage(data[0])) return [];
    return grow(data[0], data[1] ?? {});
  };
}
