// Those who watch a run or wait for its end, and what happens when they go.
import type { FastifyReply, FastifyRequest } from "fastify";
import { isAppError } from "../errors.ts";
import { toWireJson } from "../events/wire-json.ts";
import type { RunRow } from "../runs/runs.sql.ts";
import type { Runs } from "../runs/runs.ts";
import type { EventSelection } from "../runs/select-events.ts";
import { sendEvents, sendWhenReady, untilGone } from "./sse.ts";

export interface RunRoutes {
  readonly runs: Runs;
  /** Aborts when the server is told to stop. */
  readonly draining: AbortSignal;
  /** Aborts when the time for that is over: open streams end. */
  readonly stopping: AbortSignal;
}

interface Reader {
  /** The run was taken a moment ago. */
  readonly isNew: boolean;
  /** The run is to stop when the client goes. */
  readonly cancel: boolean;
}

export function createRunReaders({ runs, draining, stopping }: RunRoutes) {
  const cancelIfGone = async (request: FastifyRequest, run: RunRow, signal: AbortSignal) => {
    if (!signal.aborted || stopping.aborted) return;
    await runs.cancel(run.thread_id, run.run_id, { reason: "disconnected" }).catch((error: unknown) => {
      // It has been deleted meanwhile: nothing is left to cancel.
      if (isAppError(error, "run_not_found")) return;
      request.log.error(error, "the run of a client that has gone could not be cancelled");
    });
  };

  return {
    async stream(
      request: FastifyRequest,
      reply: FastifyReply,
      run: RunRow,
      { after, isNew, cancel, ...selection }: Reader & EventSelection & { after?: number | undefined },
    ): Promise<void> {
      const signal = untilGone(reply, stopping);
      const start = after === undefined ? {} : { after };
      const pages = runs.follow(run.run_id, { ...start, ...selection, isNew, signal });
      await sendEvents(request, reply, pages, { signal, draining });
      if (cancel) await cancelIfGone(request, run, signal);
    },

    /** A stream of one error. */
    async refuse(request: FastifyRequest, reply: FastifyReply, message: string): Promise<void> {
      const signal = untilGone(reply, stopping);
      const error = { event: "error", data: JSON.stringify({ error: "Error", message }) };
      await sendEvents(request, reply, ReadableStream.from([[error]]), { signal, draining });
    },

    async wait(
      request: FastifyRequest,
      reply: FastifyReply,
      run: RunRow,
      { isNew, cancel }: Reader,
    ): Promise<void> {
      const signal = untilGone(reply, stopping);
      const value = runs.join(run, { isNew, signal }).catch((error: unknown) => {
        if (signal.aborted) throw error;
        const known = isAppError(error);
        // What the client can do something about is his to hear, not ours.
        request.log[known && error.status < 500 ? "debug" : "error"](error, "the result could not be read");
        const message = known ? error.message : "The result could not be read.";
        return { __error__: { error: "JoinError", message } };
      });
      await sendWhenReady(reply, value.then(toWireJson));
      if (cancel) await cancelIfGone(request, run, signal);
    },

    async untilEnd(reply: FastifyReply, run: RunRow): Promise<void> {
      const signal = untilGone(reply, stopping);
      for await (const _ of runs.follow(run.run_id, { unread: true, signal }));
    },
  };
}
