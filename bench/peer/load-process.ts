// A process: the clients. Told of a cell, it runs it and tells what it saw. Each client makes a thread, runs a graph on
// it, reads the answer to its end, and begins again until the time is over; what has begun by then is waited for.
import { Agent, type IncomingMessage, request } from "node:http";
import type { Load, Measured } from "./cell.ts";

const agent = new Agent({ keepAlive: true });
/** The end of every answer, as it is in the state: a run whose answer has no such text has failed. */
const COMPLETE = "t98 t99";

interface Timing {
  readonly total: number;
  readonly firstEvent: number;
  readonly firstToken: number;
}

function post(url: string, body: object, onText: (text: string) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const read = (response: IncomingMessage) => {
    response.setEncoding("utf8");
    response.on("data", onText);
    response.on("error", reject);
    response.on("end", () =>
      response.statusCode === 200 ? resolve() : reject(new Error(`${url} answered ${response.statusCode}`)),
    );
  };
  const headers = { "content-type": "application/json" };
  request(url, { method: "POST", agent, headers }, read).on("error", reject).end(JSON.stringify(body));
  return promise;
}

/** Whether a frame of the stream carries text of the model. */
function isToken(frame: string): boolean {
  const [, event, data] = /^event: (\S+)\r?\ndata: (.*)/m.exec(frame) ?? [];
  if (event !== "messages" || data === undefined) return false;
  const [{ content, type }] = JSON.parse(data) as [{ content?: unknown; type?: string }];
  return Boolean(content) && type !== "human" && type !== "tool";
}

async function run({ url, graph, kind }: Load): Promise<Timing> {
  let made = "";
  await post(`${url}/threads`, {}, (text) => {
    made += text;
  });
  const { thread_id } = JSON.parse(made) as { thread_id: string };

  const began = performance.now();
  let firstEvent = Number.NaN;
  let firstToken = Number.NaN;
  let unread = "";
  let complete = false;
  const see = (text: string) => {
    unread += text;
    if (Number.isNaN(firstEvent) && unread.includes("event:")) firstEvent = performance.now() - began;
    if (unread.includes(COMPLETE)) complete = true;
    const frames = unread.split(/\r?\n\r?\n/);
    unread = frames.pop() ?? "";
    if (Number.isNaN(firstToken) && frames.some(isToken)) firstToken = performance.now() - began;
  };
  const body = {
    assistant_id: graph,
    input: { messages: [{ role: "user", content: "What is the weather in Oslo?" }] },
    ...(kind === "stream" ? { stream_mode: ["values", "messages-tuple"] } : {}),
  };
  await post(`${url}/threads/${thread_id}/runs/${kind}`, body, see);
  if (!complete) throw new Error(`a run of ${graph} ended without its answer: ${unread.slice(0, 500)}`);
  return { total: performance.now() - began, firstEvent, firstToken };
}

async function measure(load: Load): Promise<Measured> {
  const timings: Timing[] = [];
  let errors = 0;
  let lastError: string | undefined;
  const began = performance.now();
  const end = began + load.seconds * 1_000;
  const client = async () => {
    while (performance.now() < end) {
      try {
        timings.push(await run(load));
      } catch (error) {
        errors++;
        lastError = String(error);
      }
    }
  };
  await Promise.all(Array.from({ length: load.concurrency }, client));
  return {
    seconds: (performance.now() - began) / 1_000,
    totals: timings.map((timing) => timing.total),
    firstEvents: timings.map((timing) => timing.firstEvent),
    firstTokens: timings.map((timing) => timing.firstToken),
    errors,
    lastError,
  };
}

process.on("message", (load: Load) => void measure(load).then((measured) => process.send?.(measured)));
process.on("disconnect", () => process.exit());
