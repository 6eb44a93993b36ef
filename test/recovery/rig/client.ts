// The clients of a scenario: threads on which turns are sent, watched, cut off and resumed, as people's programs do.
// They go on through every fault, on whatever server answers, and write down what they were told.
import { setTimeout as delay } from "node:timers/promises";
import { v5 as uuidOf } from "uuid";
import type { Frame, StateMessage, Strategy } from "./history.ts";
import type { Random } from "./random.ts";
import { readStream } from "./read-events.ts";
import type { World } from "./world.ts";

export interface Workload {
  readonly threads: number;
  readonly turns: number;
  /** What a turn's strategy is picked from. */
  readonly strategies: readonly Strategy[];
  /** Probability that a turn is sent before the last one has ended. */
  readonly hurry: number;
  /** Probability that a stream is cut off, each time it is connected. */
  readonly cut: number;
  /** Probability that a run is cancelled while it runs. */
  readonly cancel: number;
  /** Whether runs are watched; otherwise they are only sent. */
  readonly watched: boolean;
  /** Tells the threads of one workload from those of another one in the same world. */
  readonly group: string;
  /** Words after a turn's name, for reply.ts. */
  readonly directives: (random: Random) => string;
  /** More fields of each run's request. */
  readonly more: object;
}

/** How long a client goes on trying before it says that the service does not come back. */
export const PATIENCE_MS = 90_000;
export const TERMINAL = new Set(["success", "error", "timeout", "interrupted"]);

export async function runClients(world: World, workload: Workload): Promise<void> {
  await Promise.all(
    Array.from({ length: workload.threads }, (_, i) =>
      runThread(world, workload, i, world.random.fork(`T${i}`)),
    ),
  );
}

async function runThread(world: World, workload: Workload, index: number, random: Random): Promise<void> {
  const tag = `T${workload.group}${index}`;
  // Not random: the same name in every run of the seed, and made as often as it takes.
  const thread = uuidOf(tag, uuidOf.URL);
  await until(world, random, async (url) =>
    request(world, url, "POST /threads", { thread_id: thread, if_exists: "do_nothing" }),
  );
  const watching: Promise<void>[] = [];
  for (let turn = 1; turn <= workload.turns; turn++) {
    const strategy = random.pick(workload.strategies);
    const text = `${tag}#${turn} ${workload.directives(random)}`.trim();
    const turnOf = { thread, key: `${tag}#${turn}`, text, strategy, more: workload.more };
    const run = await createRun(world, random, turnOf);
    if (run === undefined || !workload.watched) continue;
    const watched = watchRun(world, workload, random.fork(`watch ${turn}`), thread, run);
    watching.push(watched);
    // Heard at the end, with the others.
    watched.catch(() => undefined);
    if (!random.chance(workload.hurry)) await watched;
  }
  await Promise.all(watching);
}

interface Turn {
  readonly thread: string;
  readonly key: string;
  readonly text: string;
  readonly strategy: Strategy;
  /** More fields of the request. */
  readonly more: object;
  readonly session?: string;
}

/** Sends the turn, again and again with the same key, until it is taken or refused. The run's id when it was taken. */
export async function createRun(
  world: World,
  random: Random,
  { more, ...turn }: Turn,
): Promise<string | undefined> {
  const { thread, key, text, strategy } = turn;
  const sent = Date.now();
  const note = (outcome: "ok" | "fail", run?: string) =>
    world.history.add({ op: "create", ...turn, sent, outcome, ...(run ? { run } : {}) });
  const body = {
    assistant_id: text.includes(" tool") ? "tool" : "chat",
    input: { messages: [{ role: "user", content: text }] },
    metadata: { rig_key: key },
    multitask_strategy: strategy,
    stream_mode: ["values", "messages-tuple", "updates"],
    ...more,
  };
  const response = await until(world, random, (url) =>
    request(world, url, `POST /threads/${thread}/runs`, body, { "idempotency-key": key }),
  );
  if (response.status === 422) {
    note("fail");
    return undefined;
  }
  const { run_id } = JSON.parse(response.body) as { run_id: string };
  note("ok", run_id);
  return run_id;
}

/** Follows a run to its end, over as many connections as it takes; perhaps cancels it on the way. */
async function watchRun(
  world: World,
  workload: Workload,
  random: Random,
  thread: string,
  run: string,
): Promise<void> {
  if (random.chance(workload.cancel)) void cancelRun(world, random.fork("cancel"), thread, run);
  let after = -1;
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; ) {
    const url = pickServer(world, random);
    const cutAfter = random.chance(workload.cut) ? random.whole(1, 4_000) : Number.POSITIVE_INFINITY;
    const { frames, ended } = url ? await readStream(url, { thread, run, after, cutAfter }) : NOTHING;
    const last = frames.at(-1)?.id;
    const statusAfter = ended ? await readStatus(world, random, thread, run) : undefined;
    if (frames.length > 0 || ended) {
      world.history.add({
        op: "stream",
        run,
        after,
        frames,
        end: ended ? "end" : "cut",
        ...(statusAfter === undefined ? {} : { statusAfter }),
      });
    }
    if (last !== undefined) after = Number(last);
    if (ended) return;
    await delay(random.whole(5, 60));
  }
  throw new Error(`the stream of run ${run} did not end in ${PATIENCE_MS} ms`);
}

const NOTHING = { frames: [] as Frame[], ended: false };

async function cancelRun(world: World, random: Random, thread: string, run: string): Promise<void> {
  await delay(random.whole(0, 200));
  const action = random.pick(["interrupt", "rollback"] as const);
  const response = await until(world, random, (url) =>
    request(world, url, `POST /threads/${thread}/runs/${run}/cancel?wait=0&action=${action}`, {}),
  ).catch(() => undefined);
  const outcome = response === undefined ? "info" : response.status === 202 ? "ok" : "fail";
  world.history.add({ op: "cancel", thread, run, action, outcome });
}

/** null: the run is gone. */
export async function readStatus(
  world: World,
  random: Random,
  thread: string,
  run: string,
): Promise<string | null> {
  const response = await until(world, random, (url) =>
    request(world, url, `GET /threads/${thread}/runs/${run}`),
  );
  const status = response.status === 404 ? null : (JSON.parse(response.body) as { status: string }).status;
  world.history.add({ op: "status", run, status });
  return status;
}

/**
 * When all is over: what each run and each thread looks like to somebody who has seen nothing of it. `replays`: whether
 * the runs' streams are read.
 */
export async function readAll(world: World, replays: boolean): Promise<void> {
  const random = world.random.fork("end");
  const runs = new Map<string, string[]>();
  for (const entry of world.history.entries) {
    if (entry.op !== "create" || !entry.run) continue;
    const own = runs.get(entry.thread) ?? [];
    runs.set(entry.thread, own);
    own.push(entry.run);
  }
  const threads = [...runs];
  const readNext = async (): Promise<void> => {
    for (let next = threads.pop(); next; next = threads.pop())
      await readThread(world, random, replays, ...next);
  };
  await Promise.all(Array.from({ length: 8 }, readNext));
}

async function readThread(
  world: World,
  random: Random,
  replays: boolean,
  thread: string,
  runs: readonly string[],
): Promise<void> {
  for (const run of runs) {
    const end = Date.now() + PATIENCE_MS;
    let status = await readStatus(world, random, thread, run);
    while (status !== null && !TERMINAL.has(status) && Date.now() < end) {
      await delay(100);
      status = await readStatus(world, random, thread, run);
    }
    if (status === null || !replays) continue;
    const readWhole = async () => {
      const url = pickServer(world, random);
      if (!url) throw new Error("no server is left");
      return readStream(url, { thread, run, after: -1, cutAfter: Number.POSITIVE_INFINITY });
    };
    let replay = await readWhole();
    // Its server may have died only now.
    while (!replay.ended && Date.now() < end) replay = await readWhole();
    world.history.add({ op: "replay", run, frames: replay.frames });
  }
  const response = await until(world, random, (url) => request(world, url, `GET /threads/${thread}/state`));
  if (response.status === 404) return;
  const { values } = JSON.parse(response.body) as { values: { messages?: StateMessage[] } };
  world.history.add({ op: "state", thread, messages: values.messages ?? [] });
}

export const pickServer = (world: World, random: Random): string | undefined => {
  const live = world.servers.live();
  return live.length === 0 ? undefined : random.pick(live).url;
};

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** Asks servers until one gives an answer that is not "later". */
export async function until(
  world: World,
  random: Random,
  ask: (url: string) => Promise<Answer | undefined>,
): Promise<Answer> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await delay(random.whole(10, 150))) {
    const url = pickServer(world, random);
    const answer = url && (await ask(url));
    if (answer && answer.status < 500) return answer;
  }
  throw new Error(`no answer in ${PATIENCE_MS} ms`);
}

export async function request(
  world: World,
  url: string,
  what: string,
  body?: object,
  headers: Record<string, string> = {},
): Promise<Answer | undefined> {
  const [method = "", route = ""] = what.split(" ");
  const instance = world.servers.instances.find((one) => one.url === url)?.name ?? "";
  const note = (status: number, retryAfter: boolean, text?: string) =>
    world.history.add({
      op: "response",
      request: what.replaceAll(/[0-9a-f-]{36}/g, ":id"),
      status,
      retryAfter,
      instance,
      ...(status >= 500 && text ? { body: text.slice(0, 300) } : {}),
    });
  try {
    const response = await fetch(url + route, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(10_000),
    });
    const text = await response.text();
    note(response.status, response.headers.has("retry-after"), text);
    return { status: response.status, body: text };
  } catch {
    note(0, false);
    return undefined;
  }
}
