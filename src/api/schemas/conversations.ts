// Bodies and parameters of the conversation routes. What the values may be is in kit/conversation-values.ts.
import { z } from "zod";
import { conversationPatchSchema } from "../../kit/conversation-values.ts";
import { storableText, threadParams } from "./common.ts";

export const patchConversationBody = z.looseObject({ values: conversationPatchSchema });

/** A message's id is its author's to choose. */
export const messageParams = threadParams.extend({ message_id: storableText.min(1).max(1_000) });

/** The last number that the client has, where it cannot send Last-Event-ID. */
export const notificationsQuery = z.object({ after: z.coerce.number().int().min(0).optional() });
