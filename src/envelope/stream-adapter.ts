// The adapter as a library: any stream of LangGraph in, envelopes out. Needs no server and no database.
import { randomUUID } from "node:crypto";
import { isFields } from "../events/fields.ts";
import { type Chunk, toChunk } from "./chunk.ts";
import { toPlain } from "./coerce.ts";
import type { Placed } from "./joiner.ts";
import { createRunCalls } from "./run-calls.ts";
import { sample } from "./sampler.ts";
import { type Envelope, type Profile, type Said, toEnvelope } from "./schema.ts";

export interface StreamAdapterOptions {
  /** All ids follow from it and from the graph's own: with the same ones, a stream gives the same. By default a new one. */
  readonly runId?: string;
  /** Name of the root graph; "graph" by default. */
  readonly agent?: string;
  /** What the graph was given, to be shown at its start. Events of `streamEvents` tell it themselves. */
  readonly input?: unknown;
  /** The graph goes on from a checkpoint: after an interrupt, say. */
  readonly isResumed?: boolean;
  /** `user` (by default): tokens joined, updates and long payloads cut. `debug`: everything. */
  readonly profile?: Profile;
  /** Milliseconds for which tokens and updates are joined in `user`, 25 to 75; 50 by default. */
  readonly windowMs?: number;
  /** `live` by default; `replay` for a stream that was recorded. */
  readonly origin?: Envelope["origin"];
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

export interface StreamAdapter {
  /**
   * The envelopes of one run, from what `graph.stream` gives with several stream modes (best with `subgraphs: true` and
   * all of `values`, `messages`, `tools`, `tasks`, `updates`, `checkpoints`, `custom`), or from `graph.streamEvents` in
   * version 2. Reads no faster than it is read. When the stream fails, all calls are ended, and then it throws the same.
   * @throws TypeError when `windowMs` is none
   */
  adapt(stream: AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>): AsyncGenerator<Envelope>;
}

const MIN_WINDOW_MS = 25;
const MAX_WINDOW_MS = 75;
const WINDOW_MS = 50;

/** An adapter for streams of user interfaces: one shape for whatever happens in a run (docs/envelope.md). */
export function createStreamAdapter(options: StreamAdapterOptions = {}): StreamAdapter {
  const { profile = "user", windowMs = WINDOW_MS } = options;
  if (!(windowMs >= MIN_WINDOW_MS && windowMs <= MAX_WINDOW_MS)) {
    throw new TypeError(`windowMs is ${windowMs}, but must be from ${MIN_WINDOW_MS} to ${MAX_WINDOW_MS}.`);
  }
  return {
    async *adapt(stream) {
      for await (const page of sample(toPages(stream, options), { profile, windowMs })) {
        for (const { envelope } of page) yield envelope;
      }
    },
  };
}

async function* toPages(
  stream: AsyncIterable<unknown> | Promise<AsyncIterable<unknown>>,
  {
    runId = randomUUID(),
    agent = "graph",
    input,
    isResumed = false,
    origin = "live",
    now = Date.now,
  }: StreamAdapterOptions,
): AsyncGenerator<readonly Placed[]> {
  let place = 0;
  let said: Said[] = [];
  const take = (): Placed[] => {
    const ts = now() / 1000;
    const page = said.map((one, index) => ({ place, index, envelope: toEnvelope(one, ts, origin) }));
    said = [];
    place++;
    return page;
  };
  const begin = (item: unknown) => {
    const fromEvents = isEvent(item);
    const run = createRunCalls({ runId, agent, isResumed, fromEvents, emit: (one) => said.push(one) });
    const told = fromEvents && isFields(item.data) ? item.data.input : undefined;
    run.begin(toPlain(input ?? told));
    return run;
  };

  let run: ReturnType<typeof createRunCalls> | undefined;
  try {
    for await (const item of await stream) {
      run ??= begin(item);
      run.read(toAnyChunk(item));
      if (said.length > 0) yield take();
    }
  } catch (error) {
    run ??= begin(undefined);
    const isAbort = error instanceof Error && error.name === "AbortError";
    run.finish(isAbort ? { status: "cancelled" } : { status: "error", error: toPlain(error) });
    yield take();
    throw error;
  }
  run ??= begin(undefined);
  run.finish({ status: "success" });
  yield take();
}

/** Of `streamEvents`, and not a chunk of `stream`. */
const isEvent = (item: unknown): item is Record<string, unknown> =>
  isFields(item) && typeof item.event === "string" && item.event.startsWith("on_");

/** `[mode, data]`, `[namespace, mode, data]`, or an event of `streamEvents`. Of anything else nothing is known. */
function toAnyChunk(item: unknown): Chunk {
  if (isEvent(item)) return toChunk("events", [], () => toPlain(item));
  if (!Array.isArray(item) || item.length < 2 || item.length > 3) {
    throw new TypeError("The stream has no modes in it: stream with several of them, as a list.");
  }
  const [namespace, mode, data] = item.length === 3 ? item : [[], ...item];
  return toChunk(mode, namespace, () => toPlain(data));
}
