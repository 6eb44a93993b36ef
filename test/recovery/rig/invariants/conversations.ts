// I13 and I14: conversations, as their writers were answered, as they are when all is over, and as they were told of.
import type { Evidence } from "../check.ts";
import type { Entry, Frame } from "../history.ts";

type Of<Op extends Entry["op"]> = Extract<Entry, { op: Op }>;

const only = <Op extends Entry["op"]>(entries: readonly Entry[], op: Op) =>
  entries.filter((entry): entry is Of<Op> => entry.op === op);

/** Each patch adds one text, and sets its writer's own key to that: the n-th of them all has made version n. */
export function* eachChange({ entries }: Evidence): Iterable<string> {
  const patches = Map.groupBy(only(entries, "patch"), ({ thread }) => thread);
  for (const conversation of only(entries, "conversation")) {
    const { keyInsights: texts = [] } = conversation.values;
    const sent = patches.get(conversation.thread) ?? [];
    if (texts.length !== conversation.version)
      yield `version ${conversation.version} of ${conversation.thread} has ${texts.length} texts`;
    if (new Set(texts).size !== texts.length) yield `${conversation.thread} has a text twice`;
    const writers = new Map(sent.map(({ text, writer }) => [text, writer]));
    for (const text of texts)
      if (!writers.has(text)) yield `${conversation.thread} has ${text}, which nobody has sent`;
    for (const { text, outcome, version } of sent) {
      if (outcome === "fail" && texts.includes(text)) yield `${text} was refused, and is there`;
      if (version !== undefined && texts[version - 1] !== text)
        yield `${text} was acknowledged as version ${version}, which is ${texts[version - 1]}`;
    }
    for (const [writer, own] of Map.groupBy(sent, (patch) => patch.writer)) {
      const versions = own.flatMap(({ version }) => version ?? []);
      if (versions.some((version, i) => version <= (versions[i - 1] ?? 0)))
        yield `${writer} was acknowledged the versions ${versions.join(" ")}`;
      const newest = texts.findLast((text) => writers.get(text) === writer);
      const held = conversation.values[writer];
      if (held !== newest) yield `${writer} of ${conversation.thread} is ${held}, not ${newest}`;
    }
  }
}

export function* eachNotification({ entries, contents }: Evidence): Iterable<string> {
  const notified = Map.groupBy(only(entries, "notified"), ({ thread }) => thread);
  for (const conversation of only(entries, "conversation")) {
    const readers = Map.groupBy(notified.get(conversation.thread) ?? [], ({ reader }) => reader);
    const logs: Frame[][] = [];
    for (const [reader, connections] of readers) {
      const log: Frame[] = [];
      for (const { after, frames } of connections) {
        const [first, ...rest] = frames;
        const where = `${reader} of ${conversation.thread}, who came back with ${after}`;
        if (first?.event !== "connected" || first.id !== String(after))
          yield `${where}, was met with ${show(first)}`;
        const wrong = rest.findIndex(({ id }, i) => id !== String(log.length + i + 1));
        if (wrong >= 0) yield `${where}, got ${show(rest[wrong])} as number ${log.length + wrong + 1}`;
        log.push(...rest);
      }
      if (log.length !== conversation.last)
        yield `${reader} got ${log.length} of ${conversation.last} notifications`;
      logs.push(log);
    }
    const [log = [], ...others] = logs;
    for (const other of others)
      if (other.some(({ data }, i) => data !== log[i]?.data))
        yield `readers of ${conversation.thread} were told different things`;
    yield* wholeLog(log, conversation, contents.runs);
  }
}

/** Each version is told, in order, and the end of each run. */
function* wholeLog(
  log: readonly Frame[],
  { thread, version }: Of<"conversation">,
  runs: Evidence["contents"]["runs"],
): Iterable<string> {
  const told = log.map(({ data }) => JSON.parse(data) as { type: string; version?: number; run_id?: string });
  const versions = told.flatMap((one) => (one.type === "state:updated" ? [one.version] : []));
  if (versions.length !== version || versions.some((one, i) => one !== i + 1))
    yield `the versions of ${thread} were told as ${versions.join(" ")}`;
  for (const { run_id, status } of runs.filter((run) => run.thread_id === thread)) {
    const ends = told.filter((one) => one.run_id === run_id && /^job:(completed|failed)$/.test(one.type));
    const expected = status === "success" ? "job:completed" : "job:failed";
    if (ends.length !== 1 || ends[0]?.type !== expected)
      yield `the end of run ${run_id} (${status}) was told as ${ends.map(({ type }) => type).join(" ") || "nothing"}`;
  }
}

const show = (frame: Frame | undefined) => (frame ? `${frame.event} ${frame.id}` : "nothing");
