// Events as they are stored become events as they are sent: pointers are rebuilt from their checkpoints.
import type { Checkpointer } from "../db/checkpointer.ts";
import type { EventRow, StoredEvent } from "./event-log.sql.ts";
import { parsePointer, rebuildState, toLoggedState } from "./state-pointer.ts";
import { toWireJson } from "./wire-json.ts";

const LOST = {
  error: "StateLost",
  message:
    "The checkpoint of this state is gone or has changed, so the state cannot be shown as it was sent.",
};

/** The JSON of an event; undefined when it is a state whose checkpoint is not there any more as it was. */
export async function readData(
  checkpointer: Checkpointer,
  threadId: string,
  { data, is_pointer }: StoredEvent,
): Promise<string | undefined> {
  if (!is_pointer) return data;
  const pointer = parsePointer(data);
  if (!pointer) return undefined;
  const { checkpoint_ns, checkpoint_id } = pointer;
  const tuple = await checkpointer
    .getTuple({ configurable: { thread_id: threadId, checkpoint_ns, checkpoint_id } })
    .catch((error: unknown) => {
      if (isOfDatabase(error)) throw error;
      // What is stored cannot be read: for a reader that is as good as gone.
      return undefined;
    });
  return tuple && rebuildState(pointer, tuple.checkpoint.channel_values);
}

/** The database is away, or has refused the query: another time the state may be readable. */
const isOfDatabase = (error: unknown) => error instanceof Error && "code" in error;

/** The event to send. A state that is lost is an `error` event in its place: readers see that something is missing. */
export async function readEvent(
  checkpointer: Checkpointer,
  threadId: string,
  stored: StoredEvent,
): Promise<EventRow> {
  const { seq, event } = stored;
  const data = await readData(checkpointer, threadId, stored);
  if (data !== undefined) return { seq, event, data, ...toPointer(stored) };
  const logged = readLogged(stored);
  return logged.lost ? logged : toLost(stored, logged.data);
}

/** The event with what of a state is in the log itself: no checkpoint is read. */
export function readLogged(stored: StoredEvent): EventRow {
  const { seq, event, data, is_pointer } = stored;
  if (!is_pointer) return { seq, event, data };
  const pointer = parsePointer(data);
  return pointer ? { seq, event, data: toLoggedState(pointer), pointer: data } : toLost(stored, "{}");
}

const toLost = (stored: StoredEvent, left: string): EventRow => ({
  seq: stored.seq,
  event: "error",
  data: toWireJson(LOST),
  ...toPointer(stored),
  lost: { event: stored.event, data: left },
});

const toPointer = ({ data, is_pointer }: StoredEvent) => (is_pointer ? { pointer: data } : {});
