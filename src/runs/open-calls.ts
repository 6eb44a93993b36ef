// Tools and tasks of the runs here that have begun and not ended: how many were still open when their run had ended, and
// which of them have been open for too long. Watched as the run's graph streams them, whoever reads it, so it sees
// what the run was asked to stream: the modes `tools` and `tasks`.
import type { Logger } from "pino";
import type { Chunk } from "./graph-chunks.ts";
import type { ClaimedRun } from "./runs.sql.ts";

interface OpenCall {
  readonly kind: UnendedCalls["kind"];
  readonly name: string;
  /** Where LangGraph runs it. */
  readonly namespace: string;
  readonly since: number;
  /** It has ended with nothing: that is also how a task ends that has failed, until its graph goes on. */
  isDoubtful: boolean;
  isTold: boolean;
}

export interface RunCalls {
  read(chunk: Chunk): void;
  /** The run has left this server. */
  end(end: string): void;
}

export interface OpenCalls {
  /** For one attempt of a run. */
  watch(run: ClaimedRun): RunCalls;
  /** Calls that have been open for too long. */
  tooLong(): number;
  /** Calls whose run has ended before them, since the server has started. */
  unended(): readonly UnendedCalls[];
}

interface UnendedCalls {
  readonly kind: "tool" | "task";
  /** How the run has left the server (execute-run.ts). */
  readonly end: string;
  readonly count: number;
}

interface OpenCallsOptions {
  readonly log: Logger;
  /** After how many seconds a call has been open for too long. */
  readonly warnSeconds: number;
}

/** How often is looked for calls that are open for too long. */
const LOOK_MS = 5_000;
/** A tool that asks somebody is left in these ways; it goes on with the answer. */
const INTERRUPTS: ReadonlySet<unknown> = new Set(["GraphInterrupt", "NodeInterrupt"]);

export function createOpenCalls({ log, warnSeconds }: OpenCallsOptions): OpenCalls {
  const runs = new Map<Map<string, OpenCall>, ClaimedRun>();
  const isLong = ({ since }: OpenCall, now: number) => now - since > warnSeconds * 1_000;

  const look = () => {
    const now = performance.now();
    for (const [calls, { run_id, thread_id }] of runs) {
      for (const call of calls.values()) {
        if (call.isTold || call.isDoubtful || !isLong(call, now)) continue;
        call.isTold = true;
        const { kind, name, namespace } = call;
        log.warn({ run_id, thread_id, kind, name, namespace, seconds: warnSeconds }, "call is open too long");
      }
    }
  };
  /** Looks while there are runs. */
  let timer: NodeJS.Timeout | undefined;
  const counts = new Map<string, UnendedCalls>();

  const count = ({ kind }: OpenCall, end: string) => {
    const key = `${kind} ${end}`;
    counts.set(key, { kind, end, count: (counts.get(key)?.count ?? 0) + 1 });
  };

  return {
    watch(run) {
      const calls = new Map<string, OpenCall>();
      runs.set(calls, run);
      timer ??= setInterval(look, LOOK_MS).unref();
      return {
        read: (chunk) => readChunk(calls, chunk),
        end(end) {
          runs.delete(calls);
          if (runs.size === 0) {
            clearInterval(timer);
            timer = undefined;
          }
          const left = [...calls.values()].filter(({ isDoubtful }) => !isDoubtful || end === "error");
          if (left.length === 0) return;
          for (const call of left) count(call, end);
          const { run_id, thread_id } = run;
          const names = left.slice(0, 10).map(({ name }) => name);
          log.info(
            { run_id, thread_id, end, calls: left.length, names },
            "calls had not ended with their run",
          );
        },
      };
    },
    tooLong() {
      const now = performance.now();
      const open = [...runs.keys()].flatMap((calls) => [...calls.values()]);
      return open.filter((call) => !call.isDoubtful && isLong(call, now)).length;
    },
    unended: () => [...counts.values()],
  };
}

function readChunk(calls: Map<string, OpenCall>, { mode, namespace, data }: Chunk): void {
  if (mode !== "tools" && mode !== "tasks" && mode !== "values") return;
  if (!isRecord(data)) return;
  const place = namespace.join("|");
  if (mode === "values") {
    // The graph has gone on: what has ended with nothing has not failed.
    for (const [key, call] of calls) if (call.isDoubtful && call.namespace === place) calls.delete(key);
    return;
  }
  const [kind, key, name] =
    mode === "tools"
      ? (["tool", `tool ${place} ${data.toolCallId}`, data.name] as const)
      : (["task", `task ${data.id}`, data.name] as const);
  const open = () =>
    calls.set(key, {
      kind,
      name: String(name),
      namespace: place,
      since: performance.now(),
      isDoubtful: false,
      isTold: false,
    });
  if (mode === "tools") {
    if (data.event === "on_tool_start") open();
    else if (data.event === "on_tool_end") calls.delete(key);
    else if (data.event === "on_tool_error" && !isInterrupt(data.error)) calls.delete(key);
    return;
  }
  const { result, error, interrupts } = data;
  if (!("result" in data) && !("error" in data)) open();
  else if (Array.isArray(interrupts) && interrupts.length > 0) return;
  else if (error === undefined && isRecord(result) && Object.keys(result).length === 0) {
    const call = calls.get(key);
    if (call) call.isDoubtful = true;
  } else calls.delete(key);
}

const isInterrupt = (error: unknown) => isRecord(error) && INTERRUPTS.has(error.name);

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
