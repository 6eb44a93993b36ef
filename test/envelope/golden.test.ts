// Golden streams: what interfaces are shown of runs of every kind, kept line by line in test/fixtures/envelope/golden.
// A change of what is shown is a change of those files: npx vitest run test/envelope -u
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { envelopeSchema } from "../../src/envelope/schema.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { download, eventsUrl, normalise, startRun, toEnvelopes } from "../helpers/envelopes.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { human } from "../helpers/sdk.ts";
import { takeOver } from "../helpers/take-over.ts";

const fixtures = path.resolve(import.meta.dirname, "../fixtures/envelope");
const graphs = path.join(fixtures, "langgraph.json");
const golden = (name: string) => path.join(fixtures, `golden/${name}.jsonl`);

let heddle: TestApp;
/** Another instance: it takes over what the first one has lost, and reads what that has run. */
let other: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs });
  other = await startApp({ graphs, beside: heddle });
});
afterAll(async () => {
  await other.close();
  await heddle.close();
});

type Run = Awaited<ReturnType<typeof startRun>>;

/** Reads a run to its end, on both instances. */
async function read({ threadId, runId }: Run, query = ""): Promise<string> {
  const [here, there] = [heddle, other].map(({ url }) => eventsUrl(url, threadId, runId, query));
  await heddle.client.runs.join(threadId, runId).catch(() => undefined);
  const lines = await download(here ?? "");
  expect(await download(there ?? "")).toBe(lines);
  const envelopes = toEnvelopes(lines);
  for (const envelope of envelopes) expect(envelopeSchema.parse(envelope)).toEqual(envelope);
  return normalise(envelopes);
}

const words = (...list: string[]) => ({ words: list });

describe("the golden stream of", () => {
  it("an agent in a tool of an agent, and a graph in a tool", async () => {
    const run = await startRun(heddle, "nested", human("hello"));
    await expect(await read(run)).toMatchFileSnapshot(golden("nested"));
    await expect(await read(run, "profile=debug")).toMatchFileSnapshot(golden("nested-debug"));
  });

  it("tools at the same time", async () => {
    const run = await startRun(heddle, "parallel", human("hello"));
    await expect(await read(run)).toMatchFileSnapshot(golden("parallel"));
  });

  it("a tool that fails", async () => {
    const run = await startRun(heddle, "recovers", human("hello"));
    await expect(await read(run)).toMatchFileSnapshot(golden("tool-error"));
  });

  it("a child that fails", async () => {
    const run = await startRun(heddle, "fails", words("in"));
    await expect(await read(run)).toMatchFileSnapshot(golden("child-error"));
  });

  it("a run that is cancelled", async () => {
    const gate = crypto.randomUUID();
    const run = await startRun(heddle, "waits", { ...words("in"), gate });
    await gateReached(gate);
    await heddle.client.runs.cancel(run.threadId, run.runId, true);
    await expect(await read(run)).toMatchFileSnapshot(golden("cancel"));
  });

  it("a question in a child, and the run that answers it", async () => {
    const asked = await startRun(heddle, "asks", words("in"));
    await expect(await read(asked)).toMatchFileSnapshot(golden("interrupt"));
    const { threadId } = asked;
    const answered = await startRun(heddle, "asks", undefined, { threadId, command: { resume: "red" } });
    await expect(await read(answered)).toMatchFileSnapshot(golden("resume"));
  });

  it("a run whose worker was lost", async () => {
    const gate = crypto.randomUUID();
    const run = await startRun(heddle, "waits", { ...words("in"), gate });
    await gateReached(gate);
    await takeOver(heddle, run.runId);
    openGate(gate);
    await expect(await read(run)).toMatchFileSnapshot(golden("retry"));
  });
});
