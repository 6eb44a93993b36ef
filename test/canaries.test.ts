// What the server knows and nobody else may: secrets of its environment, and where it lies on the machine. An agent
// that looks for them in its sandbox, and a client that reads all there is to read, must find none.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client, type StreamMode } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "./helpers/database.ts";
import {
  call,
  fail,
  isAgentTurn,
  type ModelEndpoint,
  say,
  startModelEndpoint,
} from "./helpers/model-endpoint.ts";
import { startProcess } from "./helpers/process.ts";
import { whyUnavailable } from "./helpers/sandbox-thread.ts";
import { collect, human } from "./helpers/sdk.ts";

const SECRETS = {
  OPENAI_API_KEY: "canary-key-4711",
  SECRET_TOKEN: "canary-token-4712",
  PASSWORD: "canary-pass-4713",
};
const LOOK = [
  "env; set; export -p; pwd -P; id; mount; df",
  "cat /proc/1/environ /proc/self/environ /proc/self/mountinfo /proc/mounts /proc/1/cmdline /proc/self/cmdline",
  "for p in /proc/[0-9]*; do cat $p/environ $p/cmdline $p/cwd 2>&1; readlink $p/cwd $p/root $p/exe; done",
  "readlink -f . /tmp; ls -la / .. ../.. /mnt /mnt/user-data; cat /etc/passwd /work/* /app/.env",
  "awk 'BEGIN { for (name in ENVIRON) print name, ENVIRON[name] }'",
  "cd nowhere; cat /mnt/user-data/workspace; ./; source /nothing; ls /mnt/user-data/../../tmp",
];

let database: TestDatabase;
let endpoint: ModelEndpoint;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  endpoint = await startModelEndpoint();
  folder = mkdtempSync(path.join(tmpdir(), "heddle-canary-"));
});
afterAll(async () => {
  await endpoint.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Where it was found, with what stands beside it. */
function around(text: string, what: string): string {
  const at = text.indexOf(what);
  return at === -1 ? "" : text.slice(Math.max(0, at - 200), at + what.length + 200);
}

const noBubblewrap = await whyUnavailable("bubblewrap");
const MODES: StreamMode[] = ["values", "updates", "messages-tuple", "custom"];

it.each(["bubblewrap", "virtual"])(
  "are in nothing that is shown, streamed, logged or run in %s",
  async (sandbox) => {
    if (sandbox === "bubblewrap" && noBubblewrap) return;
    const url = new URL(database.url);
    url.password ||= SECRETS.PASSWORD;
    const { PASSWORD: _, ...secrets } = SECRETS;
    const heddle = startProcess({
      env: {
        ...secrets,
        DATABASE_URL: url.href,
        DATA_DIR: folder,
        SANDBOX: sandbox,
        OPENAI_BASE_URL: endpoint.url,
        LOG_LEVEL: "info",
      },
    });
    try {
      const address = await heddle.listening();
      const start = heddle.output();
      const client = new Client({ apiUrl: address, callerOptions: { maxRetries: 0 } });
      endpoint.requests.length = 0;
      const before = endpoint.requests.length;
      endpoint.script((request) => {
        if (!isAgentTurn(request)) return say("A title");
        const turn = endpoint.requests.filter(isAgentTurn).length;
        if (turn === 1) return call(...LOOK.map((command): [string, object] => ["bash", { command }]));
        if (turn === 2)
          return call(
            ["read_file", { path: "/etc/shadow" }],
            ["read_file", { path: "/proc/self/environ" }],
            ["ls", { path: "/mnt/user-data/.." }],
            ["grep", { pattern: "canary", path: "/" }],
            ["view_image", { path: "/mnt/user-data/workspace" }],
            ["write_file", { path: "/mnt/user-data/uploads", content: "x" }],
          );
        return turn === 3 ? say("Done.") : fail(401, "The key is wrong.");
      });
      const { thread_id } = await client.threads.create();
      const events = await collect(
        client.runs.stream(thread_id, "lead", { input: human("Look."), streamMode: MODES }),
      );
      const failed = await collect(
        client.runs.stream(thread_id, "lead", { input: human("Fail."), streamMode: MODES }),
      );
      const get = async (route: string) => (await fetch(address + route)).text();
      const shown = [
        events,
        failed,
        endpoint.requests.slice(before),
        await Promise.all(
          ["/info", "/models", "/ok", "/nowhere", `/threads/${thread_id}`, `/threads/${thread_id}/state`].map(
            get,
          ),
        ),
        await client.threads.getHistory(thread_id, { limit: 100 }),
        await client.runs.list(thread_id),
        await client.assistants.search(),
        await get(`/threads/${thread_id}/artifacts/mnt/user-data/workspace/none`),
        await get(`/threads/${thread_id}/artifacts/mnt/user-data/workspace/`),
      ];
      const texts = shown.map((part) => JSON.stringify(part));
      expect(texts.join()).toContain("/mnt/user-data/workspace");
      expect(events.some(({ event }) => event === "error")).toBe(false);
      expect(failed.some(({ event }) => event === "error")).toBe(true);
      // The first lines tell whoever starts the server where its data lies.
      const logged = heddle.output().slice(start.length);
      for (const secret of Object.values(SECRETS)) {
        for (const text of [...texts, start, logged]) expect(around(text, secret)).toBe("");
      }
      for (const text of texts) {
        for (const place of [folder, process.cwd()]) expect(around(text, place)).toBe("");
      }
    } finally {
      await heddle.stop();
    }
  },
);
