// Joins what comes faster than it can be read: a call's tokens into one, of its updates the last. Everything else goes
// through at once, after what was waiting, so that no start or end is late, lost or out of order. Knows no clock.
import type { Envelope } from "./schema.ts";
import { trim } from "./trim.ts";

/** Where an envelope stands in its stream: the event that it is from, and its number among those of that event. */
export interface Position {
  readonly place: number;
  readonly index: number;
}

export interface Placed extends Position {
  readonly envelope: Envelope;
}

/** An envelope as it is sent. Who has its cursor, and goes on from there, misses nothing and gets nothing twice. */
export interface Sent {
  readonly cursor: string;
  readonly envelope: Envelope;
}

/** Up to where a reader has read: all up to `to`, but of what was joined from `from` on, only the first `count`. */
export interface Cursor {
  readonly from: Position | undefined;
  readonly to: Position;
  readonly count: number;
}

export interface Joiner {
  /** Takes one, and gives what is to be sent now. */
  add(placed: Placed): readonly Sent[];
  /** What waits, joined. */
  flush(): readonly Sent[];
  isEmpty(): boolean;
}

/** Characters that may wait to be joined. */
const MAX_CHARS = 4_096;

/** @param resume what a reader had when it was cut off in the middle of what was joined */
export function createJoiner(resume?: Cursor): Joiner {
  let waiting = new Map<string, Envelope>();
  let first: Position | undefined;
  let last: Position | undefined;
  let chars = 0;
  /** What was joined when the reader was cut off is joined again, whatever its size, and however long it takes. */
  const isPartial = () =>
    resume?.from !== undefined && last !== undefined && comparePositions(last, resume.to) < 0;

  const flush = (): readonly Sent[] => {
    if (!first || !last) return [];
    const range = `${toText(first)}-${toText(last)}`;
    const end = toText(last);
    const isResumed = resume?.from !== undefined && comparePositions(first, resume.from) === 0;
    const joined = [...waiting.values()].filter(isShown);
    const sent = joined.map((envelope, index) => ({
      cursor: index === joined.length - 1 ? end : `${range}:${index + 1}`,
      envelope: trim(envelope),
    }));
    waiting = new Map();
    first = undefined;
    last = undefined;
    chars = 0;
    return isResumed ? sent.slice(resume.count) : sent;
  };

  return {
    add(placed) {
      const { envelope } = placed;
      const { type, call_id, origin, payload } = envelope;
      if (type !== "llm_token" && type !== "tool_update") {
        return [...flush(), { cursor: toText(placed), envelope: trim(envelope) }];
      }
      const isOther = waiting.values().next().value?.origin !== origin;
      const isWhole = last !== undefined && resume !== undefined && comparePositions(last, resume.to) === 0;
      const ready = !isPartial() && (isOther || isWhole || chars > MAX_CHARS) ? flush() : [];
      const key = `${type} ${call_id}`;
      waiting.set(key, join(waiting.get(key), envelope));
      first ??= placed;
      last = placed;
      if (type === "llm_token") chars += String(payload.text).length;
      return ready;
    },
    flush,
    isEmpty: () => first === undefined || isPartial(),
  };
}

/** One token of two, or the later one of two updates. */
function join(before: Envelope | undefined, after: Envelope): Envelope {
  if (before === undefined || after.type !== "llm_token") return after;
  const { text, reasoning, logprob } = before.payload;
  const next = after.payload;
  const thought = `${reasoning ?? ""}${next.reasoning ?? ""}`;
  return {
    ...after,
    payload: {
      text: `${text}${next.text}`,
      ...(thought === "" ? {} : { reasoning: thought }),
      ...(typeof logprob === "number" && typeof next.logprob === "number"
        ? { logprob: logprob + next.logprob }
        : {}),
    },
  };
}

/** Not a token of nothing but a tool call's arguments, which come with the call. */
const isShown = ({ type, payload }: Envelope) =>
  type !== "llm_token" || payload.text !== "" || payload.reasoning !== undefined;

export const comparePositions = (left: Position, right: Position) =>
  left.place - right.place || left.index - right.index;

export const toText = ({ place, index }: Position) => `${place}.${index}`;

/** Undefined for a text that is no cursor. */
export function parseCursor(text: string): Cursor | undefined {
  const found = /^(\d{1,15})\.(\d{1,9})(?:-(\d{1,15})\.(\d{1,9}):(\d{1,9}))?$/.exec(text);
  if (!found) return undefined;
  const [place = 0, index = 0, toPlace, toIndex, count] = found
    .slice(1)
    .map((part) => (part === undefined ? undefined : Number(part)));
  if (toPlace === undefined || toIndex === undefined || count === undefined)
    return { from: undefined, to: { place, index }, count: 0 };
  return { from: { place, index }, to: { place: toPlace, index: toIndex }, count };
}
