// Every stream mode, alone and in company, frame by frame as the official dev server streams it. Its frames are recorded
// in test/fixtures/runs/dev-server-frames.json; to record them again, run that server on test/fixtures/runs/langgraph.json
// and this file with RECORD_FROM=<its url>.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { collect } from "../helpers/sdk.ts";

const FOLDER = path.resolve(import.meta.dirname, "../fixtures/runs");
const RECORDED = path.join(FOLDER, "dev-server-frames.json");
const recordFrom = process.env.RECORD_FROM;

type Frame = [event: string, data: unknown];
type Mode = "values";

const SINGLE = "values updates messages messages-tuple events debug tasks checkpoints custom tools".split(
  " ",
);
const MIXES = [
  "messages,values",
  "values,updates,messages-tuple,custom",
  "updates,custom,events",
  "tasks,checkpoints,values",
];
const CASES = [...SINGLE, ...MIXES].flatMap((modes) =>
  ["turn", "ask"].flatMap((graph) => [`${graph} ${modes}`, `${graph} ${modes} subgraphs`]),
);

/** Each server's own, or this machine's. */
const OWN = new Set([
  "langgraph_version",
  "langgraph_plan",
  "langgraph_host",
  "langgraph_api_url",
  "user-agent",
  "versions",
  "timestamp",
  // Of a subgraph's configuration; the dev server loses it on the way through streamEvents.
  "run_name",
]);

/**
 * With subgraphs the dev server forgets the mode `messages`: it completes none, and sends checkpoints that nobody has
 * asked for. What it does send is the same.
 */
const isCompared = (modes: string, subgraphs: boolean) => {
  if (!subgraphs || !modes.includes("messages") || modes.includes("messages-tuple")) return () => true;
  return ({ event }: { event: string }) =>
    event !== "messages/complete" && (modes.includes("values") || !event.startsWith("checkpoints"));
};

/** Ids by the order in which they are met. */
function normalise(frames: readonly { event: string; data: unknown }[]): Frame[] {
  const ids = new Map<string, string>();
  const text = (value: string) =>
    value.replaceAll(
      /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b/g,
      (id) => {
        const name = ids.get(id) ?? `<${ids.size}>`;
        ids.set(id, name);
        return name;
      },
    );
  const walk = (value: unknown): unknown => {
    if (typeof value === "string") return text(value);
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== "object" || value === null) return value;
    const fields = Object.entries(value).filter(([key]) => !OWN.has(key));
    return Object.fromEntries(
      fields.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, field]) => [text(key), walk(field)]),
    );
  };
  return frames.map(({ event, data }) => [text(event), walk(data)]);
}

async function stream(client: Client, name: string): Promise<Frame[]> {
  const [graph = "", modes = "", subgraphs] = name.split(" ");
  const { thread_id } = await client.threads.create();
  const frames = await collect(
    client.runs.stream(thread_id, graph, {
      input: { messages: [{ type: "human", content: "hi", id: "h1" }] },
      streamMode: modes.split(",") as Mode[],
      streamSubgraphs: subgraphs !== undefined,
    }),
  );
  const compared = frames.filter(isCompared(modes, subgraphs !== undefined));
  // Between `events` and the others LangGraph keeps no order.
  return normalise(compared.sort((a, b) => Number(isEvents(a)) - Number(isEvents(b))));
}

const isEvents = ({ event }: { event: string }) => event === "events";

/** The frames as they are kept: what was there before, a message of an earlier state, is a reference to it. */
function pack(recorded: Record<string, Frame[]>): unknown {
  const known = new Map<string, number>();
  const walk = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    const json = JSON.stringify(value);
    const before = known.get(json);
    if (before !== undefined) return { "#": before };
    const packed = Array.isArray(value)
      ? value.map(walk)
      : Object.fromEntries(Object.entries(value).map(([key, field]) => [key, walk(field)]));
    if (json.length > 40) known.set(json, known.size);
    return packed;
  };
  return walk(recorded);
}

function unpack(packed: unknown): Record<string, Frame[]> {
  const known: unknown[] = [];
  const walk = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if ("#" in value) return known[Number(value["#"])];
    const whole = Array.isArray(value)
      ? value.map(walk)
      : Object.fromEntries(Object.entries(value).map(([key, field]) => [key, walk(field)]));
    if (JSON.stringify(whole).length > 40) known.push(whole);
    return whole;
  };
  return walk(packed) as Record<string, Frame[]>;
}

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs: path.join(FOLDER, "langgraph.json") });
});
afterAll(() => heddle.close());

it.runIf(recordFrom)(
  "records the dev server",
  async () => {
    const client = new Client({ apiUrl: recordFrom ?? "" });
    const recorded: Record<string, Frame[]> = {};
    for (const name of CASES) recorded[name] = await stream(client, name);
    writeFileSync(RECORDED, `${JSON.stringify(pack(recorded), undefined, 1)}\n`);
  },
  300_000,
);

it.each(CASES)("streams as the dev server does: %s", async (name) => {
  const recorded = unpack(JSON.parse(readFileSync(RECORDED, "utf8")));
  expect(await stream(heddle.client, name)).toEqual(recorded[name]);
});

it("completes the messages of subgraphs too", async () => {
  const { thread_id } = await heddle.client.threads.create();
  const frames = await collect(
    heddle.client.runs.stream(thread_id, "turn", {
      input: { messages: [{ type: "human", content: "hi", id: "h1" }] },
      streamMode: ["messages", "values"] as Mode[],
      streamSubgraphs: true,
    }),
  );
  const complete = frames.filter(({ event }) => String(event) === "messages/complete");
  const ids = complete.flatMap(({ data }) => (data as unknown as { id: string }[]).map(({ id }) => id));
  expect(ids).toEqual([
    "h1",
    "say-1-0",
    expect.stringMatching(/./),
    "quiet-3-0",
    "talk-4-0",
    "note-5",
    "note-6",
  ]);
  expect(frames.at(-1)?.event).toBe("messages/complete");
});
