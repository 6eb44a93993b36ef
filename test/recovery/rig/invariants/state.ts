// I4 and I8: each thread's messages are what its runs, one after the other, make of them, and nobody else's.
import type { Evidence } from "../check.ts";
import type { StateMessage } from "../history.ts";
import { readDirectives, tagsIn, toEffect, toReply } from "../reply.ts";

export function* serialState({ entries, contents }: Evidence): Iterable<string> {
  const texts = new Map(
    entries.flatMap((entry) => (entry.op === "create" ? [[entry.key, entry.text] as const] : [])),
  );
  for (const entry of entries) {
    if (entry.op !== "state") continue;
    const { messages } = entry;
    let at = 0;
    const runs = contents.runs.filter((run) => run.thread_id === entry.thread);
    for (const run of runs) {
      const question = texts.get(run.key ?? "");
      if (question === undefined) {
        yield `run ${run.run_id} of ${entry.thread} was sent by nobody`;
        continue;
      }
      const { next, isWhole } = readTurn(messages, at, question, readBefore(entries, question));
      if (run.status === "success" && !isWhole)
        yield `${run.key} ended as success, but its turn is not whole in the state: ${show(messages.slice(at, at + 4))}`;
      at = next;
    }
    if (at < messages.length)
      yield `${entry.thread} has messages of no run from ${at}: ${show(messages.slice(at, at + 4))}`;
  }
}

/**
 * What the model has read of a session before a question: nothing, if it was not asked in one. The session need not have
 * the question: a run that failed has left its turn on its own thread alone.
 */
function readBefore(entries: Evidence["entries"], question: string): string[] {
  const asked = entries.flatMap((entry) => (entry.op === "create" && entry.session ? [entry] : []));
  const session = asked.find(({ text }) => text === question)?.session;
  const turns = asked.filter((entry) => entry.session === session).map(({ text }) => text);
  const later = new Set(turns.slice(turns.indexOf(question)));
  for (const entry of entries) {
    if (session === undefined || entry.op !== "session" || entry.session !== session) continue;
    const texts = entry.messages.map(({ content }) => content);
    const end = texts.findIndex((text) => later.has(text));
    return texts.slice(0, end < 0 ? undefined : end);
  }
  return [];
}

/** How far the turn of this question goes from `at`, and whether it is all there. `before`: what came before all of them. */
export function readTurn(
  messages: readonly StateMessage[],
  at: number,
  question: string,
  before: readonly string[] = [],
) {
  let next = at;
  const past = () => [...before, ...messages.slice(0, next).map((message) => message.content)];
  const take = (type: string, content: string) => {
    const message = messages[next];
    const found = message?.type === type && message.content === content;
    if (found) next++;
    return found;
  };
  if (!take("human", question)) return { next, isWhole: false };
  if (readDirectives(question).tool && !(take("ai", "") && take("tool", toEffect(question)))) {
    return { next, isWhole: false };
  }
  return { isWhole: take("ai", toReply(past(), question)), next };
}

export const show = (messages: readonly StateMessage[]) =>
  messages.map((message) => `${message.type} ${JSON.stringify(message.content)}`).join(", ") || "nothing";

export function* noForeignData({ entries }: Evidence): Iterable<string> {
  const tags = new Map<string, string>();
  const threads = new Map<string, string>();
  for (const entry of entries) {
    if (entry.op !== "create") continue;
    const [tag = ""] = entry.key.split("#");
    tags.set(entry.thread, tag);
    if (entry.run) threads.set(entry.run, entry.thread);
  }
  for (const entry of entries) {
    if (entry.op !== "state" && entry.op !== "stream" && entry.op !== "replay") continue;
    const thread = entry.op === "state" ? entry.thread : threads.get(entry.run);
    const own = tags.get(thread ?? "");
    const text =
      entry.op === "state"
        ? entry.messages.map((message) => message.content).join("\n")
        : entry.frames.map((frame) => frame.data).join("\n");
    const foreign = tagsIn(text).find((tag) => tag !== own);
    if (foreign !== undefined) yield `${entry.op} of ${own} shows ${foreign}`;
  }
}
