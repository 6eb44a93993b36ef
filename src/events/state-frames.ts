// Turns the states that a run streams into JSON, and into pointers for the log. To know what a checkpoint will give
// back, it watches the run's checkpoints as they are stored and loaded; it relies on no object staying as it was: what a
// node changes in place, or what does not survive being stored, differs in its JSON and goes into the log as it is.
import type { ChannelVersions, Checkpoint } from "@langchain/langgraph-checkpoint";
import type { Checkpointer } from "../db/checkpointer.ts";
import { dump, load } from "../db/serializer.ts";
import {
  type ChannelText,
  joinChannelTexts,
  type StatePointer,
  toChannelText,
  toChannelTexts,
  toSha256,
  toSources,
} from "./state-pointer.ts";
import { toWireJson } from "./wire-json.ts";

interface RenderedState {
  /** The JSON to send. */
  readonly data: string;
  /** What to store instead of it, if that is smaller: JSON of a StatePointer. */
  readonly pointer?: string;
}

export interface StateFrames {
  /** Waits for a checkpoint that is being written: a pointer is only given when what it points at is committed. */
  render(namespace: readonly string[], state: unknown): Promise<RenderedState>;
  /** Of a record one of whose fields is a state, as a task's input is. */
  renderWithin(namespace: readonly string[], record: object, field: string): Promise<RenderedState>;
  /** Stops watching. */
  close(): void;
}

/** A state of fewer characters is stored as it is: reading it back then needs no checkpoint. */
const MIN_CHARS = 512;
/** Checkpoints of one graph that a slow reader of the stream may be behind. */
const MAX_CHECKPOINTS = 8;
/** Subgraphs that are remembered, besides the root graph. */
const MAX_NAMESPACES = 100;

interface Seen {
  readonly id: string;
  readonly channels: ReadonlyMap<string, { readonly version: unknown; readonly text: ChannelText }>;
  readonly committed: Promise<boolean>;
}

interface WatchedRun {
  readonly threadId: string;
  readonly token: string;
  /** Whether the states of subgraphs are streamed as well. */
  readonly subgraphs: boolean;
}

export function watchStates(
  checkpointer: Checkpointer,
  { threadId, token, subgraphs }: WatchedRun,
): StateFrames {
  /** The newest last. */
  const seen = new Map<string, Seen[]>();
  /** What a list's element will be when it is loaded; so a long list costs only what is new in it. */
  const stored = new WeakMap<object, string>();

  const once = (toText: (part: unknown) => string) => (part: unknown) => {
    if (typeof part !== "object" || part === null) return toText(part);
    const text = stored.get(part) ?? toText(part);
    stored.set(part, text);
    return text;
  };

  const remember = (
    ns: string,
    { id, channel_values: values, channel_versions: versions }: Checkpoint,
    committed: Promise<boolean>,
    toText: (channel: string, value: unknown) => ChannelText | undefined,
  ) => {
    const before = seen.get(ns) ?? [];
    const channels = new Map<string, { version: unknown; text: ChannelText }>();
    for (const [channel, value] of Object.entries(values)) {
      const version = versions[channel];
      const known = before.find((one) => one.channels.get(channel)?.version === version);
      const text = known?.channels.get(channel)?.text ?? toText(channel, value);
      if (text !== undefined) channels.set(channel, { version, text });
    }
    // Taken out and put back: the first of the map is the one that was not used for longest.
    seen.delete(ns);
    seen.set(ns, [...before, { id, channels, committed }].slice(-MAX_CHECKPOINTS));
    if (seen.size > MAX_NAMESPACES) seen.delete([...seen.keys()].find((other) => other !== "") ?? ns);
  };

  const close = checkpointer.watch(threadId, token, {
    onPut(ns: string, checkpoint: Checkpoint, written: Promise<unknown>, newVersions: ChannelVersions) {
      if (ns !== "" && !subgraphs) return;
      const committed = written.then(
        () => true,
        () => false,
      );
      remember(ns, checkpoint, committed, (channel, value) => {
        // It was stored earlier: what it holds now is not known to be what it held then.
        if (!(channel in newVersions)) return undefined;
        return Array.isArray(value) ? toChannelText(value, once(toStoredText)) : toStoredText(value);
      });
    },
    onLoad(ns: string, checkpoint: Checkpoint) {
      if (ns !== "" && !subgraphs) return;
      remember(ns, checkpoint, Promise.resolve(true), (_, value) => toChannelText(value, once(toWireJson)));
    },
  });

  const render = async (namespace: readonly string[], state: unknown): Promise<RenderedState> => {
    const channels = toChannelTexts(state);
    if (channels === undefined) return { data: toWireJson(state) };
    const data = joinChannelTexts(channels);
    if (data.length < MIN_CHARS) return { data };
    const ns = namespace.join("|");
    const sha256 = toSha256(data);
    // The first that is small, else the smallest: whichever checkpoint it names, it is right.
    let best: RenderedState = { data };
    let committed = Promise.resolve(true);
    for (const checkpoint of seen.get(ns)?.toReversed() ?? []) {
      const pointer = JSON.stringify({
        checkpoint_ns: ns,
        checkpoint_id: checkpoint.id,
        channels: toSources(channels, (channel) => checkpoint.channels.get(channel)?.text),
        sha256,
      } satisfies StatePointer);
      if (pointer.length < (best.pointer ?? data).length) {
        best = { data, pointer };
        committed = checkpoint.committed;
      }
      if (pointer.length < MIN_CHARS) break;
    }
    return (await committed) ? best : { data };
  };

  return {
    close,
    render,
    async renderWithin(namespace, record, field) {
      const fields = Object.entries(record).filter(([, value]) => value !== undefined);
      const place = fields.findIndex(([key]) => key === field);
      if (place === -1) return { data: toWireJson(record) };
      const toTexts = (part: typeof fields) =>
        part.map(([key, value]) => `${JSON.stringify(key)}:${toWireJson(value)}`);
      const [before, after] = [toTexts(fields.slice(0, place)), toTexts(fields.slice(place + 1))];
      const { data, pointer } = await render(namespace, fields[place]?.[1]);
      const around = [
        `{${[...before, `${JSON.stringify(field)}:`].join(",")}`,
        `${["", ...after].join(",")}}`,
      ] as const;
      return {
        data: around.join(data),
        ...(pointer === undefined ? {} : { pointer: JSON.stringify({ ...JSON.parse(pointer), around }) }),
      };
    },
  };
}

/** The JSON of a value after it has been stored and loaded. "null" when it cannot be stored: then `put` fails as well. */
function toStoredText(value: unknown): string {
  try {
    return toWireJson(load(dump(value)));
  } catch {
    return "null";
  }
}
