// Drives the server with the official SDK, in two versions, row by row of docs/compatibility.md.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import * as sdk from "@langchain/langgraph-sdk";
import * as nextSdk from "langgraph-sdk-next";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { KEYS } from "./api/keys.ts";
import type { Answer, Served, ServerKind } from "./api/row.ts";
import { SECTIONS } from "./api/sections.ts";

const fixture = (name: string) => path.resolve(import.meta.dirname, "../fixtures", name);
const plain = fixture("conformance/langgraph.json");

const SERVERS: Record<ServerKind, Parameters<typeof startApp>[0]> = {
  plain: { graphs: plain, env: { WEBHOOK_ALLOW: "127.0.0.1" } },
  project: {
    graphs: fixture("conformance/project.json"),
    env: {
      ALLOW_TRUNCATE: "true",
      LANGGRAPH_CONFIG: JSON.stringify({
        made: { configurable: { node: "named" }, context: { tone: "dry" } },
      }),
    },
  },
  keys: { graphs: plain, env: { API_KEYS: `ann:${KEYS.ann},bob:${KEYS.bob}` } },
  rules: { graphs: fixture("auth/langgraph.json") },
  handlers: { graphs: fixture("conformance/handlers.json") },
};

const request =
  (url: string): Served["request"] =>
  async (method, place, body, headers = {}): Promise<Answer> => {
    const answer = await fetch(url + place, {
      method,
      headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, json: parse(text) };
  };

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The newer SDK's types differ in small things; what is tried is what it does.
const VERSIONS = { "1.12.4": sdk, "1.15.0": nextSdk as unknown as typeof sdk };

function toServed(url: string, one: typeof sdk): Served {
  const client = new one.Client({ apiUrl: url, callerOptions: { maxRetries: 0 } });
  return {
    url,
    client,
    sdk: one,
    request: request(url),
    async serve(project, check, files = {}) {
      const folder = mkdtempSync(path.join(tmpdir(), "heddle-conformance-"));
      const all = { ...files, "langgraph.json": JSON.stringify(project) };
      for (const [name, text] of Object.entries(all)) writeFileSync(path.join(folder, name), text);
      let app: TestApp | undefined;
      try {
        app = await startApp({ graphs: path.join(folder, "langgraph.json") });
        await check(toServed(app.url, one));
      } finally {
        await app?.close();
        rmSync(folder, { recursive: true });
      }
    },
  };
}

// One server of a kind, for both versions: what it finds out once, a graph's schemas for one, is not found out again.
const KINDS = Object.keys(SERVERS) as ServerKind[];
describe.each(KINDS)("on the server %s", (kind) => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startApp(SERVERS[kind]);
  });
  afterAll(() => app.close());

  for (const [version, one] of Object.entries(VERSIONS)) {
    for (const { title, server = "plain", rows } of SECTIONS) {
      if (server !== kind) continue;
      it.each(rows)(`SDK ${version}, ${title}: $of $heddle`, ({ check }) => check(toServed(app.url, one)));
    }
  }
});
