// The messages of a run: which are being streamed, in which namespace, and when each of them is over. Several may be
// streamed at the same time, also by one node.

import { toParts } from "../events/content-block.ts";
import { type Fields, isFields } from "../events/fields.ts";
import { sameNamespace } from "../events/namespace.ts";
import { type OpenMessage, openMessage } from "./open-message.ts";

export type EmitMessage = (namespace: readonly string[], node: string | undefined, data: Fields) => void;

interface Streamed {
  readonly namespace: readonly string[];
  readonly message: OpenMessage;
}

export interface Messages {
  /** A message or a chunk, and LangGraph's metadata, as `messages-tuple` gives them. */
  add(namespace: readonly string[], tuple: unknown): void;
  /** Ends those of a task, by the namespace of the task; of all, by []. */
  finish(isOf: (namespace: readonly string[]) => boolean): void;
  abandon(): void;
}

/** Roles of messages that a model or a person has written; a tool's result is told by the channels of tools and values. */
const ROLES: Readonly<Record<string, string>> = { ai: "ai", human: "human", system: "system" };

export function createMessages(emit: EmitMessage): Messages {
  const open = new Map<string, Streamed>();

  const end = (key: string, { message }: Streamed) => {
    message.finish();
    open.delete(key);
  };

  return {
    add(namespace, tuple) {
      const [message, metadata] = Array.isArray(tuple) ? tuple : [];
      if (!isFields(message) || typeof message.id !== "string") return;
      const role = ROLES[String(message.type)];
      if (role === undefined) return;
      const { id } = message;
      const key = [...namespace, id].join("\0");
      for (const [other, streamed] of open) {
        if (other !== key && sameNamespace(streamed.namespace, namespace) && streamed.message.hasEnded()) {
          end(other, streamed);
        }
      }
      const found = open.get(key) ?? {
        namespace,
        message: openMessage({ id, role, metadata: toModel(metadata) }, (data) =>
          emit(namespace, toNodeName(metadata), data),
        ),
      };
      open.set(key, found);
      found.message.add(toParts(message));
      found.message.note(message);
      if (!Array.isArray(message.tool_call_chunks)) end(key, found);
    },
    finish(isOf) {
      for (const [key, streamed] of open) if (isOf(streamed.namespace)) end(key, streamed);
    },
    abandon() {
      for (const { message } of open.values()) message.abandon();
      open.clear();
    },
  };
}

const toNodeName = (metadata: unknown) =>
  isFields(metadata) && typeof metadata.langgraph_node === "string" ? metadata.langgraph_node : undefined;

function toModel(metadata: unknown): Fields {
  if (!isFields(metadata)) return {};
  const { ls_provider: provider, ls_model_name: model, ls_model_type: model_type } = metadata;
  return Object.fromEntries(
    Object.entries({ provider, model, model_type }).filter(([, value]) => typeof value === "string"),
  );
}
