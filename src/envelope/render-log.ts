// Renders the events of one run's log as envelopes. A pure fold: the same events give the same envelopes in the same
// places, to whoever reads them, whenever. It starts at the run's first event, also for a reader who wants only the last.
import { toCheckpointTime } from "../events/checkpoint-time.ts";
import { isFields } from "../events/fields.ts";
import type { FollowedEvent } from "../events/follow.ts";
import { parsePointer, toLoggedState, toSha256 } from "../events/state-pointer.ts";
import type { Chunk } from "./chunk.ts";
import type { Placed } from "./joiner.ts";
import { createRunCalls, type Terminal } from "./run-calls.ts";
import { type Envelope, type Said, toEnvelope } from "./schema.ts";

/** What of a run its envelopes depend on besides its events. */
export interface LoggedRun {
  readonly runId: string;
  readonly graphName: string;
  /** The place of its first event. */
  readonly base: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly input: unknown;
  /** It answers an interrupt, or goes on without input. */
  readonly isResumed: boolean;
  readonly modes: readonly string[];
  readonly withSubgraphs: boolean;
  /** Whether what is at a place was there before the reader. */
  readonly originOf: (place: number) => Envelope["origin"];
}

export interface LogRenderer {
  render(event: FollowedEvent): Placed[];
  /** The events have been deleted. */
  expire(event: FollowedEvent): Placed[];
  end(terminal: Terminal): Placed[];
}

const READ: ReadonlySet<string> = new Set([
  "values",
  "updates",
  "messages",
  "tools",
  "tasks",
  "checkpoints",
  "custom",
  "debug",
  "events",
]);

export function createLogRenderer(run: LoggedRun): LogRenderer {
  const { runId, graphName, base, modes, originOf } = run;
  let said: Said[] = [];
  let timestamp = run.startedAt;
  let last = -1;
  let hasBegun = false;
  const calls = createRunCalls({
    runId,
    agent: graphName,
    isResumed: run.isResumed,
    fromEvents: isFromEvents(modes),
    emit: (one) => said.push(one),
  });

  const begin = () => {
    if (hasBegun) return;
    hasBegun = true;
    calls.begin(run.input);
    const missing = toMissing(run);
    if (missing.length > 0) {
      const message = `The run does not log all that these events are made of: start it with ${missing.join(" and ")}.`;
      calls.warn("ModesMissing", message, { missing });
    }
  };

  const take = (seq: number): Placed[] => {
    const ts = timestamp / 1000;
    const origin = originOf(base + seq);
    const placed = said.map((one, index) => ({
      place: base + seq,
      index,
      envelope: toEnvelope(one, ts, origin),
    }));
    said = [];
    return placed;
  };

  const read = (event: FollowedEvent) => {
    const [mode = "", ...namespace] = event.event.split("|");
    if (mode === "metadata") {
      const { attempt } = JSON.parse(event.data);
      if (hasBegun) calls.retry(attempt);
      return begin();
    }
    begin();
    if (!READ.has(mode)) return;
    const chunk = toLogChunk(mode, namespace, event);
    if (mode === "checkpoints") {
      const place = chunk.read();
      const id = isFields(place) ? place.id : undefined;
      if (typeof id === "string") timestamp = Math.max(timestamp, toCheckpointTime(id));
    }
    calls.read(chunk);
  };

  return {
    render(event) {
      const { seq = last, lost, ...shown } = event;
      last = seq;
      try {
        read(lost ? { ...shown, ...lost, lost, seq } : { ...shown, seq });
      } catch {
        begin();
        calls.warn("CorruptEvent", `Event ${seq} of the run, ${shown.event}, cannot be read.`, {
          event: seq,
        });
      }
      if (lost) {
        const message = `The state of event ${seq}, ${lost.event}, cannot be shown as it was.`;
        calls.warn("StateLost", message, { event: seq });
      }
      return take(seq);
    },
    expire({ data }) {
      calls.begin(run.input);
      said = [];
      const { error: name, message } = JSON.parse(data);
      calls.fail({ name, message });
      return take(0);
    },
    end(terminal) {
      begin();
      calls.finish(terminal);
      return take(last + 1);
    },
  };
}

/**
 * Which stored states the renderer does without (FollowOptions): of a graph it reads the first one in each attempt, which
 * is what the graph has begun with.
 */
export function createStateFilter(): (event: string) => boolean {
  let read = new Set<string>();
  return (event) => {
    if (event === "metadata") read = new Set();
    if (!event.startsWith("values") || read.has(event)) return true;
    read.add(event);
    return false;
  };
}

function toLogChunk(mode: string, namespace: readonly string[], event: FollowedEvent): Chunk {
  const pointer = event.pointer === undefined ? undefined : parsePointer(event.pointer);
  // Of a task's input, what it has of the state is nowhere needed.
  const text = pointer && mode === "tasks" ? toLoggedState(pointer) : event.data;
  let known: { readonly data: unknown } | undefined;
  const read = () => {
    known ??= { data: JSON.parse(text) };
    return known.data;
  };
  // A row that was changed is noticed at once; a state is not read for that, its pointer was.
  if (!pointer) read();
  return {
    mode,
    namespace,
    read,
    digest: () => pointer?.sha256 ?? toSha256(text),
    isInterrupt() {
      if (!text.startsWith('{"__interrupt__":')) return false;
      const state = read();
      return isFields(state) && Object.keys(state).length === 1;
    },
  };
}

/** Models and tools are told by `streamEvents` where the graph's own stream does not tell them. */
const isFromEvents = (modes: readonly string[]) =>
  modes.includes("events") && !(modes.includes("messages-tuple") && modes.includes("tools"));

/** What the run should have been started with. */
function toMissing({ modes, withSubgraphs }: LoggedRun): string[] {
  const hasTasks = modes.includes("tasks") || modes.includes("debug") || modes.includes("updates");
  const told = isFromEvents(modes)
    ? []
    : [
        ...(modes.includes("messages-tuple") ? [] : ["messages-tuple"]),
        ...(modes.includes("tools") ? [] : ["tools"]),
        ...(hasTasks ? [] : ["tasks"]),
      ];
  const missing = [...told, ...(modes.includes("values") ? [] : ["values"])];
  return [
    ...missing.map((mode) => `stream_mode "${mode}"`),
    ...(withSubgraphs ? [] : ["stream_subgraphs true"]),
  ];
}
