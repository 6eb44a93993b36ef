// Typed state over HTTP: the agents of document 004 as graphs of a project, asked through the SDK.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { human, lastText } from "../helpers/sdk.ts";

const FIXTURES = path.resolve(import.meta.dirname, "../fixtures/state/langgraph.json");
let heddle: TestApp;

beforeAll(async () => {
  heddle = await startApp({ graphs: FIXTURES });
});
afterAll(() => heddle.close());

type Values = Record<string, unknown> & { messages: { type: string; content: string; name?: string }[] };

const newThread = async () => (await heddle.client.threads.create()).thread_id;
const wait = async (graph: string, text: string, more: object = {}, threadId?: string) =>
  (await heddle.client.runs.wait(threadId ?? (await newThread()), graph, {
    input: { ...human(text), ...more },
  })) as Values;
const toolMessages = ({ messages }: Values) => messages.filter(({ type }) => type === "tool");

describe("the examples of document 004", () => {
  it("Using State with Agents: a tool's result is in the result of the run", async () => {
    const result = await wait("calculator", "Calculate 15 + 27");
    expect(result.calc_result).toBe(42);
    expect(lastText(result)).toBe("done");
  });

  it("Reading from State: what the input holds beside messages fills a parameter", async () => {
    const { client } = heddle;
    const threadId = await newThread();
    const result = await client.runs.wait(threadId, "search", {
      input: { messages: [{ role: "user", content: "Search for Python tutorials" }], user_name: "Alice" },
    });
    expect(result).toMatchObject({
      user_name: "Alice",
      search_results: ["Found results for 'Python tutorials' (user: Alice)"],
    });
  });

  it("Writing to State, Combining Inputs and Outputs: tools hand on what the model does not see", async () => {
    const result = await wait("retrieval", "Find and process a document about Python");
    const first = { title: "Doc 1", content: "Content about Python" };
    expect(result).toMatchObject({
      documents: [first, { title: "Doc 2", content: "More about Python" }],
      result_count: 2,
      last_query: "Python",
      final_docs: [first],
      final_count: 1,
    });
    expect(toolMessages(result)[0]?.content).toBe("Found 2 documents.");
  });

  it("without a source the whole result is stored", async () => {
    const result = await wait("user-info", "Get the user information");
    expect(result.user_info).toEqual({ name: "Alice", email: "alice@example.org", role: "admin" });
  });

  it("Complete Example: a factorial, then multiplied", async () => {
    const result = await wait("arithmetic", "Calculate the factorial of 5, then multiply it by 2");
    expect(result).toMatchObject({ factorial_result: 120, calc_result: 240 });
    expect(result.messages.map(({ type, name, content }) => [type, name ?? "", content])).toEqual([
      ["human", "", "Calculate the factorial of 5, then multiply it by 2"],
      ["ai", "model", ""],
      ["tool", "factorial", '{"result":120}'],
      ["ai", "model", ""],
      ["tool", "multiply", '{"result":240}'],
      ["ai", "model", "done"],
    ]);
  });
});

it("a state lasts over the runs of a thread, each with keys of its own", async () => {
  const threadId = await newThread();
  await wait("search", "Search", { user_name: "Alice" }, threadId);
  const result = await wait("search", "Search again", { user_name: "Bob" }, threadId);
  expect(result.search_results).toEqual([
    "Found results for 'Python tutorials' (user: Alice)",
    "Found results for 'Python tutorials' (user: Bob)",
  ]);
  const { values } = await heddle.client.threads.getState(threadId);
  expect(values).toMatchObject({ user_name: "Bob" });
});

it("a tool that misses something in the state tells the model what", async () => {
  const result = await wait("search", "Search");
  expect(toolMessages(result)[0]?.content).toContain('The state has no "user_name" yet');
  expect(result.search_results).toBeNull();
});

it("an input that does not fit its key ends the run with the key's name", async () => {
  const threadId = await newThread();
  const run = wait("search", "Search", { user_name: 7 }, threadId);
  await expect(run).rejects.toThrow('field "user_name"');
});

describe("parallel calls of one tool", () => {
  const places = ["roof", "yard", "barn"];

  it("lose nothing in a StateGraph with a ToolNode, merged in call order by the handlers they name", async () => {
    const threadId = await newThread();
    expect(await wait("tally", "Count", {}, threadId)).toMatchObject({ total: 10, places });
    expect(await wait("tally", "Count again", {}, threadId)).toMatchObject({ total: 20, places });
  });

  it("wait in the database for one that asks a person, and are merged by another server", async () => {
    const threadId = await newThread();
    await wait("review", "Count", {}, threadId);
    const [written] = await heddle.database.db.query<{ count: string }>(
      "select count(*) from heddle.checkpoint_writes where thread_id = $1 and channel = 'total'",
      [threadId],
    );
    expect(Number(written?.count)).toBe(2);
    const other = await startApp({ graphs: FIXTURES, beside: heddle });
    const result = await other.client.runs.wait(threadId, "review", { command: { resume: 4 } });
    expect(result).toMatchObject({ total: 10, places });
    await other.close();
  });
});
