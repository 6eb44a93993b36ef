// The graphs of langgraph.json in LangGraph's own dev server, which is what LangGraph Studio talks to: it must load
// them, show their schemas and run them, without any part of our server.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ThreadState } from "#kit";
import { freePort } from "../../src/db/free-port.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
let client: Client;
// Known as soon as there is a process, so that one that never listens is stopped too.
let stop: () => Promise<void> = async () => undefined;

beforeAll(async () => {
  client = await startStudio();
});
afterAll(() => stop());

test("the lead graph shows the state of a thread as a JSON schema, with messages that make a chat", async () => {
  const [assistant] = await client.assistants.search({ graphId: "lead" });
  const schemas = await client.assistants.getSchemas(assistant?.assistant_id ?? "");
  const { properties = {} } = schemas.state_schema ?? {};
  expect(Object.keys(properties)).toEqual(
    expect.arrayContaining([
      "messages",
      "sandbox",
      "thread_data",
      "title",
      "artifacts",
      "todos",
      "uploaded_files",
      "viewed_images",
    ]),
  );
  expect(schemas.input_schema?.properties?.messages).toMatchObject({ langgraph_type: "messages" });
});

test("the lead graph plans, writes, presents and answers with the demo model, turn after turn", async () => {
  const thread = await client.threads.create();
  const run = async (text: string) =>
    (await client.runs.wait(thread.thread_id, "lead", {
      input: { messages: [{ role: "user", content: text }] },
      context: { is_plan_mode: true },
    })) as unknown as ThreadState;
  const first = await run("Hello there");
  expect(first.todos?.map(({ status }) => status)).toEqual(["completed", "completed"]);
  expect(first.artifacts).toEqual(["/mnt/user-data/outputs/demo-1.md"]);
  expect(first.title).toBe("Hello there...");
  const second = await run("And again");
  expect(second.artifacts).toEqual(["/mnt/user-data/outputs/demo-1.md", "/mnt/user-data/outputs/demo-2.md"]);
  expect(second.messages.at(-1)?.content).toContain("You began with: “Hello there”");
});

/** The dev server on our langgraph.json, in a folder of its own, since it keeps its data beside that file. */
async function startStudio(): Promise<Client> {
  const folder = await mkdtemp(path.join(tmpdir(), "heddle-studio-"));
  const config = JSON.parse(await readFile(path.join(ROOT, "langgraph.json"), "utf8"));
  const graphs = Object.entries<string>(config.graphs).map(([id, file]) => {
    return [id, `./${path.relative(folder, path.join(ROOT, file))}`];
  });
  const file = path.join(folder, "langgraph.json");
  await writeFile(file, JSON.stringify({ ...config, graphs: Object.fromEntries(graphs) }));
  const port = await freePort();
  const cli = path.join(ROOT, "node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs");
  const args = [
    cli,
    "dev",
    "--no-browser",
    "--no-reload",
    "--host",
    "127.0.0.1",
    "--port",
    `${port}`,
    "-c",
    file,
  ];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    // A group of its own: the CLI starts the server as another process, and both must go.
    detached: true,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      DATA_DIR: path.join(folder, "data"),
      SANDBOX: "virtual",
      LANGGRAPH_CLI_NO_ANALYTICS: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close");
  stop = async () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  await listening(child, ended);
  return new Client({ apiUrl: `http://127.0.0.1:${port}` });
}

async function listening(child: ReturnType<typeof spawn>, ended: Promise<unknown>): Promise<void> {
  let text = "";
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const collect = (chunk: Buffer) => {
    text += chunk.toString();
    if (text.includes("Server running at")) resolve();
  };
  child.stdout?.on("data", collect);
  child.stderr?.on("data", collect);
  void ended.then(() => reject(new Error(`The dev server ended:\n${text}`)));
  await promise;
}
