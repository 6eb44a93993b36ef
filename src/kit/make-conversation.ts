// Makes what a graph sees of its conversation out of a place that keeps it: a server's database, or this process.
import type { z } from "zod";
import { AppError, isAppError } from "../errors.ts";
import type { Conversation, ConversationState, MessageState } from "./conversation.ts";
import {
  type ConversationPatch,
  conversationPatchSchema,
  type MessagePatch,
  messagePatchSchema,
} from "./conversation-values.ts";
import { createKeyLock } from "./key-lock.ts";

/** Where the conversation of one run is kept. What is written here has been checked. */
export interface ConversationPlace {
  readonly id: string;
  read(): Promise<ConversationState>;
  /** @throws AppError version_conflict */
  write(patch: ConversationPatch, version: number | undefined): Promise<number>;
  readMessage(): Promise<MessageState>;
  writeMessage(patch: MessagePatch): Promise<number>;
  /** Notes the time of the step, by the place's own clock. */
  markStep(name: string, edge: "start" | "end"): Promise<void>;
  tell(type: "file:ready" | "file:error", fileId: string): Promise<void>;
}

export function makeConversation(place: ConversationPlace): Conversation {
  // Parallel tasks of this run would only be faster than each other.
  const changes = createKeyLock();
  const patch: Conversation["patch"] = (values, { version } = {}) =>
    place.write(check(conversationPatchSchema, values), version);
  return {
    id: place.id,
    read: () => place.read(),
    // Async, so that what is wrong with the values is a rejection.
    patch: async (values, options) => patch(values, options),
    change: (make) =>
      changes.run(place.id, async () => {
        for (;;) {
          const { values, version } = await place.read();
          try {
            return await patch(make(values), { version });
          } catch (error) {
            if (!isAppError(error, "version_conflict")) throw error;
          }
        }
      }),
    readMessage: () => place.readMessage(),
    patchMessage: async (values) => place.writeMessage(check(messagePatchSchema, values)),
    async step(name, work) {
      await place.markStep(name, "start");
      const result = await work();
      await place.markStep(name, "end");
      return result;
    },
    fileReady: (fileId) => place.tell("file:ready", fileId),
    fileFailed: (fileId) => place.tell("file:error", fileId),
  };
}

/** @throws AppError invalid_request, which names each key that is wrong */
function check<Schema extends z.ZodType>(schema: Schema, values: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(values);
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${["values", ...path].join(".")}: ${message}`);
  throw new AppError("invalid_request", problems.join("\n"), { details: problems });
}

/** What a caller is told whose version is not the current one. */
export const versionConflict = (version: number) =>
  new AppError("version_conflict", `The conversation has changed: its version is ${version}.`, {
    details: { version },
    headers: { etag: `"${version}"` },
  });
