// What an ended run answers: the state as it was at its end, with the interrupts it stopped at.
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Database } from "../db/database.ts";
import { selectLastValues } from "../events/event-log.sql.ts";
import { readData } from "../events/stored-events.ts";
import type { ThreadStates } from "../threads/state.ts";
import type { RunRow } from "./runs.sql.ts";

interface ResultSources {
  readonly db: Database;
  readonly checkpointer: Checkpointer;
  readonly states: ThreadStates;
}

/** From the run's last states, else (none was streamed, or they are deleted) from the thread as it is now. */
export async function readResult(
  { db, checkpointer, states }: ResultSources,
  { run_id, thread_id }: Pick<RunRow, "run_id" | "thread_id">,
): Promise<unknown> {
  const read = async (stored: Awaited<ReturnType<typeof selectLastValues>>[number] | undefined) => {
    const data = stored && (await readData(checkpointer, thread_id, stored));
    return data === undefined ? undefined : (JSON.parse(data) as unknown);
  };
  const [newest, before] = await selectLastValues(db, run_id);
  const last = await read(newest);
  if (isObject(last)) {
    if (!("__interrupt__" in last)) return last;
    const state = await read(before);
    if (isObject(state)) return { ...state, ...last };
    if (before === undefined) return last;
  }
  const { values, interrupts } = await states.get(thread_id);
  return isObject(values) && interrupts.length > 0 ? { ...values, __interrupt__: interrupts } : values;
}

/** The result when this is the last of the run's states and errors, if it says all of it. */
export function readLast({
  event,
  data,
}: {
  readonly event: string;
  readonly data: string;
}): object | undefined {
  if (event !== "values") return undefined;
  const state: unknown = JSON.parse(data);
  return isObject(state) && !("__interrupt__" in state) ? state : undefined;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
