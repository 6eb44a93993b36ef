// The main job, end to end on real files: the server as a process, the official SDK before it, a scripted
// OpenAI-compatible endpoint behind the real @langchain/openai. Two turns, a restart, and a third.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./helpers/database.ts";
import {
  call,
  fail,
  isAgentTurn,
  type ModelEndpoint,
  type ModelReply,
  type ModelRequest,
  say,
  startModelEndpoint,
  textOf,
} from "./helpers/model-endpoint.ts";
import { type HeddleProcess, startProcess } from "./helpers/process.ts";
import { collect, human, lastText } from "./helpers/sdk.ts";

const data = path.resolve("node_modules/vega-datasets/data");
const CSV = readFileSync(path.join(data, "seattle-weather.csv"), "utf8");
const PNG = readFileSync(path.join(data, "ffox.png"));

/** What awk is to find, computed here in another way: rainy days and the highest temperature. */
const rows = CSV.trim()
  .split("\n")
  .slice(1)
  .map((line) => line.split(","));
const RAINY = rows.filter((row) => row[5]?.trim() === "rain").length;
const HOTTEST = Math.max(...rows.map((row) => Number(row[2])));
const AWK = `awk -F, 'NR>1 { if ($6 ~ /^rain/) n++; if ($3 > max) max = $3 } END { print n, max }' /mnt/user-data/uploads/weather.csv`;
const REPORT = `# Weather\n\n${RAINY} rainy days, at most ${HOTTEST} °C.\n`;

const todos = (...statuses: string[]) => ({
  todos: ["Compute", "Look", "Report"].map((title, i) => ({
    id: `todo-${i + 1}`,
    title,
    status: statuses[i],
  })),
});

type Step = (request: ModelRequest) => ModelReply;
const lastMessage = (request: ModelRequest) => JSON.stringify(request.messages.at(-1));

/** Turn one: plan, read, compute, look, write, present, answer; on the way a rate limit and a failure. */
const FIRST_TURN: Step[] = [
  () => fail(429, "Too many requests"),
  (request) => {
    expect(textOf(request)).toContain("weather.csv");
    expect(textOf(request)).toContain("logo.png");
    return call(["write_todos", todos("in_progress", "pending", "pending")]);
  },
  () =>
    call([
      "read_file",
      {
        description: "Look at the table",
        path: "/mnt/user-data/uploads/weather.csv",
        start_line: 1,
        end_line: 3,
      },
    ]),
  (request) => {
    expect(lastMessage(request)).toContain("date,precipitation,temp_max");
    return call(["bash", { description: "Compute", command: AWK }]);
  },
  () => fail(500, "Internal error"),
  (request) => {
    expect(lastMessage(request)).toContain(`${RAINY} ${HOTTEST}`);
    return call(
      ["view_image", { image_path: "/mnt/user-data/uploads/logo.png" }],
      ["write_todos", todos("completed", "in_progress", "pending")],
    );
  },
  (request) => {
    expect(imagesIn(request)).toEqual([`data:image/png;base64,${PNG.toString("base64")}`]);
    return call([
      "write_file",
      { description: "Write the report", path: "/mnt/user-data/outputs/report.md", content: REPORT },
    ]);
  },
  () => call(["present_files", { file_paths: ["/mnt/user-data/outputs/report.md"] }]),
  () => call(["write_todos", todos("completed", "completed", "completed")]),
  () => say(`There were ${RAINY} rainy days. The report is done.`),
];

function imagesIn(request: ModelRequest): string[] {
  const parts = request.messages.flatMap((message) =>
    Array.isArray(message.content) ? message.content : [],
  );
  return parts.flatMap((part) => {
    const { type, image_url: image } = part as { type: string; image_url?: { url: string } };
    return type === "image_url" && image ? [image.url] : [];
  });
}

let endpoint: ModelEndpoint;
let database: TestDatabase;
let dataDir: string;
const running: HeddleProcess[] = [];

beforeAll(async () => {
  endpoint = await startModelEndpoint();
});
afterAll(() => endpoint.close());
afterEach(async () => {
  for (const heddle of running.splice(0)) await heddle.stop("SIGKILL");
  await database.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function start(sandbox: string): Promise<{ heddle: HeddleProcess; url: string; client: Client }> {
  const heddle = startProcess({
    env: {
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      SANDBOX: sandbox,
      OPENAI_BASE_URL: endpoint.url,
      OPENAI_API_KEY: "not-a-key",
      MODEL: "scripted",
      LOG_LEVEL: "warn",
    },
    args: ["--config", path.resolve("langgraph.json")],
  });
  running.push(heddle);
  const url = await heddle.listening();
  return { heddle, url, client: new Client({ apiUrl: url, callerOptions: { maxRetries: 0 } }) };
}

/** Plays the steps for the agent's turns and a title for the one who asks for it; notes what went wrong in a step. */
function play(steps: readonly Step[]): { failures: unknown[]; left(): number } {
  const waiting = [...steps];
  const failures: unknown[] = [];
  endpoint.script((request) => {
    if (!isAgentTurn(request)) return say('"Rain in Seattle"');
    try {
      return waiting.shift()?.(request) ?? say("There is no more to say.");
    } catch (error) {
      failures.push(error);
      return say("The test failed.");
    }
  });
  return { failures, left: () => waiting.length };
}

const hasBubblewrap = (() => {
  try {
    execFileSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

interface Values {
  title: string;
  todos: { status: string }[];
  artifacts: string[];
  viewed_images: object;
  sandbox: { sandbox_id: string };
  thread_data: Record<string, string>;
  messages: { type: string; content: unknown }[];
}

describe.each(["virtual", "bubblewrap"])("the main job in the sandbox %s", (sandbox) => {
  it.skipIf(sandbox === "bubblewrap" && !hasBubblewrap)(
    "is done, remembered, and goes on after a restart",
    async () => {
      database = await createTestDatabase();
      dataDir = mkdtempSync(path.join(tmpdir(), "heddle-main-job-"));
      endpoint.requests.length = 0;
      const first = await start(sandbox);
      expect(rows.length).toBeGreaterThan(1_000);

      // A thread with two real files.
      const { thread_id: threadId } = await first.client.threads.create();
      const form = new FormData();
      form.append("files", new Blob([CSV]), "weather.csv");
      form.append("files", new Blob([PNG]), "logo.png");
      const uploaded = await fetch(`${first.url}/threads/${threadId}/uploads`, {
        method: "POST",
        body: form,
      });
      expect(uploaded.status).toBe(200);

      // The first turn, streamed.
      const turn = play(FIRST_TURN);
      const events = await collect(
        first.client.runs.stream(threadId, "lead", {
          input: human("How often did it rain, and what is on the picture? Write a report."),
          config: { configurable: { is_plan_mode: true } },
          streamMode: ["messages-tuple", "updates", "values"],
        }),
      );
      expect(turn.failures).toEqual([]);
      expect(turn.left()).toBe(0);
      expect(events.at(-1)?.event).toBe("values");
      const streamed = events
        .filter((event) => event.event === "messages")
        .map((event) => (event.data as unknown as { type: string; content: unknown }[])[0]);
      const tokens = streamed.filter((chunk) => chunk?.type === "ai").map((chunk) => String(chunk?.content));
      expect(tokens.join("")).toContain(`There were ${RAINY} rainy days.`);
      expect(tokens.join("")).not.toContain("Rain in Seattle");

      const { values } = await first.client.threads.getState<Values>(threadId);
      expect(lastText(values)).toBe(`There were ${RAINY} rainy days. The report is done.`);
      expect(values.title).toBe("Rain in Seattle");
      expect(values.todos.map((todo) => todo.status)).toEqual(["completed", "completed", "completed"]);
      expect(values.artifacts).toEqual(["/mnt/user-data/outputs/report.md"]);
      expect(values.viewed_images).toEqual({});
      expect(values.sandbox.sandbox_id).toBe(`${sandbox}:${threadId}`);
      expect(endpoint.requests.filter((request) => imagesIn(request).length > 0)).toHaveLength(1);
      expect(JSON.stringify(values)).not.toContain(dataDir);
      expect(JSON.stringify(values)).not.toContain(PNG.toString("base64").slice(0, 100));

      const artifact = await fetch(`${first.url}/threads/${threadId}/artifacts${values.artifacts[0]}`);
      expect(await artifact.text()).toBe(REPORT);

      // The second turn knows the first, and is not told of the files again.
      endpoint.requests.length = 0;
      const second = play([() => say("You asked about rain.")]);
      // What the input holds beside messages goes to the state and comes back.
      const input = { ...human("What did I ask?"), title: "Rain, by day" };
      const answer = await first.client.runs.wait(threadId, "lead", { input });
      expect(answer).toMatchObject({ title: "Rain, by day" });
      expect(lastText(answer)).toBe("You asked about rain.");
      expect(second.failures).toEqual([]);
      expect(endpoint.requests).toHaveLength(1);
      const told = textOf(endpoint.requests[0] as ModelRequest);
      expect(told).toContain("How often did it rain");
      expect(told).toContain(`${RAINY} rainy days`);
      expect(told.match(/<\/uploaded_files>/g)).toHaveLength(1);
      expect(told.match(/- weather\.csv/g)).toHaveLength(1);
      expect(imagesIn(endpoint.requests[0] as ModelRequest)).toEqual([]);
      const before = await first.client.threads.getState(threadId);

      // Everything is still there after a restart, and a third turn works.
      await first.heddle.stop("SIGTERM");
      const again = await start(sandbox);
      expect(await again.client.threads.getState(threadId)).toEqual(before);
      const kept = await fetch(`${again.url}/threads/${threadId}/artifacts${values.artifacts[0]}`);
      expect(await kept.text()).toBe(REPORT);
      const third = play([
        () => call(["bash", { description: "Count", command: "wc -l < /mnt/user-data/outputs/report.md" }]),
        (request) => {
          expect(lastMessage(request)).toMatch(/\b3\b/);
          return say("The report has three lines.");
        },
      ]);
      const last = await again.client.runs.wait(threadId, "lead", {
        input: human("How long is the report?"),
      });
      expect(third.failures).toEqual([]);
      expect(lastText(last)).toBe("The report has three lines.");
      expect((last as unknown as Values).title).toBe("Rain, by day");
      expect((last as unknown as Values).artifacts).toEqual(["/mnt/user-data/outputs/report.md"]);
    },
    120_000,
  );
});

describe("a model endpoint that fails", () => {
  it("gives a run with the status error and a reason, and a thread that still works", async () => {
    database = await createTestDatabase();
    dataDir = mkdtempSync(path.join(tmpdir(), "heddle-main-job-"));
    const { client } = await start("virtual");
    const { thread_id: threadId } = await client.threads.create();
    endpoint.script(() => fail(401, "Incorrect API key provided"));
    await expect(client.runs.wait(threadId, "lead", { input: human("Hello") })).rejects.toThrow(
      /401|API key/,
    );
    const [run] = await client.runs.list(threadId);
    expect(run?.status).toBe("error");
    expect(run).toHaveProperty("error.message", expect.stringMatching(/API key/));
    expect((await client.threads.get(threadId)).status).toBe("error");
    play([() => say("Now it works.")]);
    const answer = await client.runs.wait(threadId, "lead", { input: human("Hello again") });
    expect(lastText(answer)).toBe("Now it works.");
  }, 60_000);
});
