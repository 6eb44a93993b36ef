// I15 and I16: sessions, which outlive the threads of their runs, and named checkpoints.
import { isDeepStrictEqual } from "node:util";
import type { Evidence } from "../check.ts";
import type { StateMessage } from "../history.ts";
import { readTurn, show } from "./state.ts";

/** The turns of its runs, one after the other. */
export function* eachMessage({ entries, contents }: Evidence): Iterable<string> {
  const turns = new Map(
    entries.flatMap((entry) => (entry.op === "create" && entry.session ? [[entry.key, entry] as const] : [])),
  );
  for (const entry of entries) {
    if (entry.op !== "session") continue;
    const { messages, session } = entry;
    let at = 0;
    for (const { key, status } of contents.runs) {
      const turn = turns.get(key ?? "");
      if (turn?.session !== session) continue;
      const { next, isWhole } = readTurn(messages, at, turn.text);
      if (!isWhole && (status === "success" || next > at))
        yield `${key} ended as ${status}, ${session} has of it ${show(messages.slice(at, at + 4))}`;
      at = next;
    }
    if (at < messages.length)
      yield `${session} has messages of no run from ${at}: ${show(messages.slice(at, at + 4))}`;
  }
}

interface View {
  readonly shared_state: { readonly messages?: readonly StateMessage[] };
}

export function* eachCheckpoint({ entries, contents }: Evidence): Iterable<string> {
  const restored = new Map(
    entries.flatMap((entry) => (entry.op === "restored" ? [[entry.id, entry] as const] : [])),
  );
  const attempts = new Map(contents.runs.map((run) => [run.run_id, run.attempt]));
  for (const entry of entries) {
    if (entry.op === "checkpoint") {
      const { id, view } = entry;
      const now = restored.get(id);
      const then = JSON.parse(view) as View;
      if (!now || !isDeepStrictEqual(JSON.parse(now.view), then))
        yield `checkpoint ${id} was ${view}, and is ${now?.view ?? "gone"}`;
      else if (toText(now.messages) !== toText(then.shared_state.messages ?? []))
        yield `checkpoint ${id} was restored as ${toText(now.messages)}`;
    }
    // An attempt that dies may take one with it that is not saved yet.
    if (entry.op === "steps" && attempts.get(entry.run) === 1) {
      const { saved, last, run } = entry;
      const expected = Array.from({ length: last }, (_, i) => i + 1).join(" ");
      if (saved.join(" ") !== expected)
        yield `run ${run} has made checkpoints of the steps ${saved.join(" ")} of ${last}`;
    }
  }
}

const toText = (messages: readonly StateMessage[] | null) =>
  messages === null ? "nothing" : JSON.stringify(messages.map(({ type, content }) => [type, content]));
