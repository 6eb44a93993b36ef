// A state in the event log is not its text, which grows with the thread, but a pointer: the checkpoint that holds the
// state, and what differs from it. Here is how one is made and how the text comes back, byte for byte.
import { createHash } from "node:crypto";
import { isFields } from "./fields.ts";
import { toWireJson } from "./wire-json.ts";

/** The JSON of a channel's value; of a list, the JSON of each element. */
export type ChannelText = string | readonly string[];

/**
 * Where a channel's JSON comes from: null, the checkpoint; a text, this text. Of a list, in order: a number, as many
 * elements of the checkpoint's list, at the places that they have there; a text, an element in the place of another.
 */
type Source = null | string | (number | string)[];

export interface StatePointer {
  readonly checkpoint_ns: string;
  readonly checkpoint_id: string;
  readonly channels: readonly (readonly [channel: string, source: Source])[];
  /** Of the state's JSON: what is rebuilt is either the same or not sent. */
  readonly sha256: string;
  /** What stands before and after the state, when it is a part of what was sent. */
  readonly around?: readonly [before: string, after: string];
}

export const toChannelText = (value: unknown, toText: (part: unknown) => string = toWireJson): ChannelText =>
  Array.isArray(value) ? Array.from(value, toText) : toText(value);

/** The JSON of the channels of a state; undefined when it is no plain object (a graph whose output is one channel). */
export function toChannelTexts(state: unknown): Map<string, ChannelText> | undefined {
  if (typeof state !== "object" || state === null) return undefined;
  if (Object.getPrototypeOf(state) !== Object.prototype) return undefined;
  const channels = Object.entries(state).filter(([, value]) => value !== undefined);
  return new Map(channels.map(([channel, value]) => [channel, toChannelText(value)]));
}

/** The JSON of a state. */
export function joinChannelTexts(channels: Iterable<readonly [string, ChannelText]>): string {
  const fields = Array.from(channels, ([channel, text]) => {
    const json = typeof text === "string" ? text : `[${text.join(",")}]`;
    return `${JSON.stringify(channel)}:${json}`;
  });
  return `{${fields.join(",")}}`;
}

/** What a state takes from a checkpoint, `stored` being the JSON of what that will give back. */
export const toSources = (
  channels: ReadonlyMap<string, ChannelText>,
  stored: (channel: string) => ChannelText | undefined,
): StatePointer["channels"] =>
  Array.from(channels, ([channel, text]) => [channel, toSource(text, stored(channel))] as const);

function toSource(text: ChannelText, stored: ChannelText | undefined): Source {
  if (typeof text === "string") return text === stored ? null : text;
  const pieces: (number | string)[] = [];
  for (const [index, element] of text.entries()) {
    const last = pieces.at(-1);
    if (typeof stored !== "object" || element !== stored[index]) pieces.push(element);
    else if (typeof last === "number") pieces[pieces.length - 1] = last + 1;
    else pieces.push(1);
  }
  return pieces;
}

/** Undefined for what is not the text of one: a row that was changed. */
export function parsePointer(text: string): StatePointer | undefined {
  try {
    const pointer: unknown = JSON.parse(text);
    return isFields(pointer) && Array.isArray(pointer.channels) && typeof pointer.sha256 === "string"
      ? (pointer as unknown as StatePointer)
      : undefined;
  } catch {
    return undefined;
  }
}

/** The JSON from its checkpoint's values; undefined when they are not those it was made of. */
export function rebuildState(
  { channels, sha256, around }: StatePointer,
  values: Readonly<Record<string, unknown>>,
): string | undefined {
  const json = joinChannelTexts(
    channels.map(([channel, source]) => [channel, toText(source, values[channel])] as const),
  );
  return toSha256(json) === sha256 ? surround(json, around) : undefined;
}

const surround = (json: string, [before, after]: StatePointer["around"] = ["", ""]) => before + json + after;

/** The JSON with only those channels of the state that are in the pointer itself, whole. */
export function toLoggedState({ channels, around }: StatePointer): string {
  const logged = channels.flatMap(([channel, source]): [string, ChannelText][] => {
    if (source === null) return [];
    if (typeof source === "string") return [[channel, source]];
    const pieces = source.filter((piece) => typeof piece === "string");
    return pieces.length === source.length ? [[channel, pieces]] : [];
  });
  return surround(joinChannelTexts(logged), around);
}

function toText(source: Source, value: unknown): ChannelText {
  if (source === null) return toChannelText(value);
  if (typeof source === "string") return source;
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  let at = 0;
  return source.flatMap((piece) => {
    const from = at;
    at += typeof piece === "number" ? piece : 1;
    return typeof piece === "number" ? list.slice(from, at).map((part) => toWireJson(part)) : [piece];
  });
}

export const toSha256 = (text: string) => createHash("sha256").update(text).digest("hex");
