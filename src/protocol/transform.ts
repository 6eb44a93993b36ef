// Stream transformers: what a graph was compiled with to tell clients more than LangGraph does (`compile({ transformers })`).
// They see the events of the thread protocol while the run runs, and what they put into named channels, or promise for
// the end, goes into the run's log as custom events. LangGraph's own machinery for them is driven by our events.
import { setTimeout as delay } from "node:timers/promises";
import {
  createGraphRunStream,
  isNativeTransformer,
  type StreamMode,
  type StreamTransformer,
} from "@langchain/langgraph";
import type { Logger } from "pino";
import type { OpenTransform, Transform } from "../runs/transform.ts";
import { createRunRenderer } from "./render-run.ts";

/** How long the end of a run waits for what transformers have promised. */
const PROMISES_MS = 5_000;

/** A chunk as LangGraph's version 3 has it: namespace, mode, data. */
type Part = [namespace: string[], mode: StreamMode, data: unknown];

/**
 * Transforms a run's stream: undefined when its graph has no transformers that clients could hear of. One that fails ends
 * the transforming, with a warning, and not the run.
 */
export function createTransforms({ log }: { log: Logger }): OpenTransform {
  return (graph, { runId, graphName }, tell) => {
    const warn = (error: unknown) =>
      log.warn({ err: error, run_id: runId }, "the stream transformers of a graph have failed");
    try {
      const transformers = openTransformers(graph);
      if (transformers.length === 0) return undefined;
      return openTransform(transformers, { runId, graphName, tell, warn });
    } catch (error) {
      warn(error);
      return undefined;
    }
  };
}

/** Those of LangChain itself (native, without an emitter) only serve readers in the same process. */
const openTransformers = ({ streamTransformers = [] }: Parameters<OpenTransform>[0]) =>
  streamTransformers.map((open) => open()).filter((transformer) => !isNativeTransformer(transformer));

interface TransformOptions {
  readonly runId: string;
  readonly graphName: string;
  readonly tell: Parameters<OpenTransform>[2];
  readonly warn: (error: unknown) => void;
}

function openTransform(
  transformers: readonly StreamTransformer[],
  { runId, graphName, tell, warn }: TransformOptions,
): Transform {
  const { readable, writable } = new TransformStream<Part, Part>(undefined, {
    highWaterMark: Number.POSITIVE_INFINITY,
  });
  const writer = writable.getWriter();
  const put = (part: Part) => void writer.write(part).catch(() => undefined);
  const renderer = createRunRenderer({ runId, graphName, base: 0, startedAt: 0, answers: [] });
  /** Namespaces of what has come from the graph: LangGraph hands them on as they are. */
  const given = new WeakSet<readonly string[]>();

  const events = createGraphRunStream(
    readable as AsyncIterable<Part>,
    transformers.map((transformer) => () => transformer),
  );
  // A failed run is told by the run itself.
  Promise.resolve(events.output).catch(() => undefined);
  let isOver = false;
  const hearing = (async () => {
    for await (const { method, params } of events) {
      if (isOver) return;
      const { namespace, data } = params;
      if (method.startsWith("custom:"))
        tell(namespace, { name: method.slice("custom:".length), payload: data });
      // Promised values have a name in their data already.
      else if (method === "custom" && !given.has(namespace)) tell(namespace, data);
    }
  })().catch(warn);

  return {
    push({ mode, namespace, data }, frame) {
      for (const message of renderer.render(frame)) {
        if (message.method !== "messages") continue;
        const metadata = { langgraph_node: message.node };
        put([[...message.namespace], "messages", [JSON.parse(message.data), metadata]]);
      }
      if (mode === "messages" || mode === "events" || mode === "debug") return;
      const own = [...namespace];
      given.add(own);
      put([own, mode, data]);
    },
    async end() {
      const isDone = Promise.all([writer.close(), hearing]).then(
        () => true,
        () => true,
      );
      const late = new AbortController();
      const isInTime = await Promise.race([
        isDone,
        delay(PROMISES_MS, false, { signal: late.signal }).catch(() => true),
      ]);
      late.abort();
      isOver = true;
      if (!isInTime) warn(new Error("what they have promised has not come in time"));
    },
    fail(error) {
      isOver = true;
      void writer.abort(error).catch(() => undefined);
    },
  };
}
