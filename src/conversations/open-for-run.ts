// What a graph that a server runs sees of its conversation (`#kit`).
import { FencedError } from "../db/checkpointer.ts";
import type { Queryable } from "../db/database.ts";
import type { Conversation, ConversationState, MessageState } from "../kit/conversation.ts";
import { type ConversationPatch, toPatchParts } from "../kit/conversation-values.ts";
import { makeConversation } from "../kit/make-conversation.ts";
import { markStep, patchMessageState, type Writer } from "./message-states.sql.ts";
import { insertNotification } from "./notifications.sql.ts";

interface RunDeps {
  readonly db: Queryable;
  readonly announce: (threadId: string) => void;
  readonly read: () => Promise<ConversationState>;
  readonly readMessage: () => Promise<MessageState>;
  readonly write: (
    patch: ConversationPatch,
    version: number | undefined,
  ) => Promise<{ readonly version: number }>;
}

export function openForRun({ db, announce, read, readMessage, write }: RunDeps, run: Writer): Conversation {
  const { threadId, runId, token } = run;
  const held = <Row>([row]: readonly Row[]): Row => {
    if (row === undefined) throw new FencedError(threadId);
    announce(threadId);
    return row;
  };
  return makeConversation({
    id: threadId,
    read,
    readMessage,
    write: async (patch, version) => (await write(patch, version)).version,
    writeMessage: async (patch) => held(await patchMessageState(db, run, toPatchParts(patch))).version,
    markStep: async (name, edge) => void held(await markStep(db, run, { name, edge })),
    tell: async (type, fileId) => {
      const about = { run_id: runId, file_id: fileId };
      held(await insertNotification(db, { threadId, token, type, about }));
    },
  });
}
