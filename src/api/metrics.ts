// Figures about the server for Prometheus: GET /metrics. What runs and requests do is counted as it happens, what is in
// the database is read when it is asked for. Each server has a registry of its own.

import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { z } from "zod";
import type { RunEnd } from "../runs/execute-run.ts";
import type { OpenCalls } from "../runs/open-calls.ts";
import type { QueueSize } from "../runs/queue.sql.ts";
import { isPassedOn } from "./known-sender.ts";

interface MetricsOptions {
  readonly readQueue: () => Promise<QueueSize>;
  /** Runs that this process runs now. */
  readonly activeRuns: () => number;
  readonly calls: Pick<OpenCalls, "tooLong" | "unended">;
}

export interface Metrics {
  readonly registry: Registry;
  /** Counts a run, from the attempt that begins now to its end. */
  observeRun(attempt: number, run: () => Promise<RunEnd>): Promise<void>;
  /** Counts a request, from now to the end of its answer. */
  observeRequest(request: FastifyRequest, reply: FastifyReply): void;
}

/** How long figures of the database are good for: several scrapers ask it once. */
const FRESH_MS = 2_000;
const RUN_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createMetrics({ readQueue, activeRuns, calls }: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const finished = new Histogram({
    name: "heddle_run_duration_seconds",
    help: "Time that runs took on this server, from its last attempt to the end.",
    labelNames: ["status"],
    buckets: RUN_SECONDS,
    registers,
  });
  const ended = new Counter({
    name: "heddle_runs_ended_total",
    help: "Runs that have left this server: finished (success, error, interrupted, rolled_back), lost to another server, given back to the queue (released), or left to another attempt (failed).",
    labelNames: ["end"],
    registers,
  });
  const retaken = new Counter({
    name: "heddle_runs_retaken_total",
    help: "Runs begun here that an earlier attempt had not finished.",
    registers,
  });
  const requests = new Histogram({
    name: "heddle_http_request_duration_seconds",
    help: "Time to answer requests; event streams have no duration here.",
    labelNames: ["method", "route", "status"],
    buckets: REQUEST_SECONDS,
    registers,
  });
  const streams = new Counter({
    name: "heddle_http_streams_total",
    help: "Event streams and WebSockets that have ended.",
    labelNames: ["route"],
    registers,
  });
  new Gauge({
    name: "heddle_runs_active",
    help: "Runs that run on this server now.",
    registers,
    collect() {
      this.set(activeRuns());
    },
  });
  new Counter({
    name: "heddle_calls_unended_total",
    help: "Tools and tasks that had not ended when their run left this server, by how that was. Readers of a run's events are given an end for them.",
    labelNames: ["kind", "end"],
    registers,
    collect() {
      this.reset();
      for (const { count, ...labels } of calls.unended()) this.inc(labels, count);
    },
  });
  new Gauge({
    name: "heddle_calls_open_too_long",
    help: "Tools and tasks of runs on this server that have been open for longer than CALL_WARN_SECONDS.",
    registers,
    collect() {
      this.set(calls.tooLong());
    },
  });
  const open = new Map<ServerResponse | Duplex, FastifyRequest>();
  new Gauge({
    name: "heddle_http_streams_open",
    help: "Event streams and WebSockets that are open now.",
    registers,
    collect() {
      this.set([...open.keys()].filter(isStream).length);
    },
  });
  gaugeQueue(registry, readQueue);

  return {
    registry,
    async observeRun(attempt, run) {
      if (attempt > 1) retaken.inc();
      const since = performance.now();
      const end = await run();
      ended.inc({ end });
      if (FINISHED.has(end)) finished.observe({ status: end }, (performance.now() - since) / 1000);
    },
    observeRequest(request, reply) {
      // It is counted where it came in.
      if (isPassedOn(request)) return;
      const since = performance.now();
      const answer = request.headers.upgrade === "websocket" ? request.raw.socket : reply.raw;
      open.set(answer, request);
      answer.once("close", () => {
        open.delete(answer);
        const route = request.routeOptions.url ?? "none";
        if (isStream(answer)) return streams.inc({ route });
        const status = `${String(reply.raw.statusCode).charAt(0)}xx`;
        requests.observe({ method: request.method, route, status }, (performance.now() - since) / 1000);
      });
    },
  };
}

const FINISHED: ReadonlySet<RunEnd> = new Set<RunEnd>(["success", "error", "interrupted", "rolled_back"]);

const isStream = (answer: ServerResponse | Duplex) =>
  !("getHeader" in answer) ||
  /^(text\/event-stream|application\/jsonl)/.test(String(answer.getHeader("content-type")));

/** Gauges of what is in the database; while it is away they are not there, and `heddle_database_up` says why. */
function gaugeQueue(registry: Registry, readQueue: () => Promise<QueueSize>): void {
  let asked: { at: number; size: Promise<QueueSize | undefined> } | undefined;
  const size = () => {
    if (!asked || performance.now() - asked.at > FRESH_MS) {
      asked = { at: performance.now(), size: readQueue().catch(() => undefined) };
    }
    return asked.size;
  };
  const gauge = (name: string, help: string, read: (size: QueueSize) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const found = await size();
        if (found) this.set(read(found));
        else this.remove();
      },
    });
  gauge("heddle_queue_depth", "Runs that could start now if a worker had room.", ({ ready }) => ready);
  gauge("heddle_queue_lag_seconds", "How long the oldest of those has been waiting.", ({ lag }) => lag);
  gauge("heddle_queue_pending", "Runs that wait, also for their time or their thread.", (all) => all.pending);
  new Gauge({
    name: "heddle_database_up",
    help: "Whether PostgreSQL answers: 1 or 0.",
    registers: [registry],
    async collect() {
      this.set((await size()) ? 1 : 0);
    },
  });
}

export function countRequests(app: FastifyInstance, { observeRequest }: Metrics): void {
  app.addHook("onRequest", (request, reply, done) => {
    observeRequest(request, reply);
    done();
  });
}

export function metricsRoutes(server: FastifyInstance, { registry }: Metrics): void {
  const app = server.withTypeProvider<ZodTypeProvider>();
  let watchesProcess = false;
  app.get(
    "/metrics",
    {
      schema: {
        querystring: z.object({ format: z.enum(["prometheus", "json"]).default("prometheus") }),
        summary: "Figures for Prometheus",
      },
    },
    async ({ query: { format } }, reply) => {
      // They watch the garbage collector and the event loop from then on: only for somebody who reads it.
      if (!watchesProcess) collectDefaultMetrics({ register: registry });
      watchesProcess = true;
      if (format === "json") return registry.getMetricsAsJSON();
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}
