// The keys of langgraph.json, each on a server of its own.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import path from "node:path";
import type { Section, Served } from "./row.ts";

const fixture = (name: string) => path.resolve(import.meta.dirname, "../../fixtures", name);
const steps = { steps: fixture("conformance/steps.ts:graph") };
const environment = { environment: fixture("conformance/environment.ts:graph") };

/** A name that no other test sets: what is in the environment stays there. */
const newName = () => `HEDDLE_${randomUUID().replaceAll("-", "_")}`;

const lookUp = async ({ client }: Served, name: string) => {
  const values = await client.runs.wait(null, "environment", { input: { name } });
  return (values as { found?: string }).found;
};

const search = { namespace_prefix: [] };
/** Of each key of http, a route that it takes away. */
const DISABLED = {
  disable_assistants: ["POST", "/assistants/search", {}],
  disable_threads: ["POST", "/threads/search", {}],
  disable_runs: ["POST", "/runs/wait", { assistant_id: "steps", input: { plan: ["add"] } }],
  disable_store: ["POST", "/store/items/search", search],
  disable_meta: ["GET", "/info", undefined],
} as const;

export const settingsSection: Section = {
  title: "Keys of langgraph.json",
  rows: [
    {
      of: "graphs",
      heddle:
        "are compiled or not yet, an agent, a promise of one, or a function that makes one; with a description if need be",
      async check({ serve }) {
        const graphs = {
          built: fixture("conformance/steps.ts:graph"),
          compiled: fixture("conformance/environment.ts:graph"),
          promised: { path: fixture("conformance/agent.ts:graph"), description: "Knows the weather." },
          made: fixture("conformance/made.ts:graph"),
        };
        await serve({ graphs }, async ({ client }) => {
          const run = async (name: string, input: Record<string, unknown>) =>
            (await client.runs.wait(null, name, { input })) as object;
          assert.deepEqual(await run("built", { plan: ["add"] }), { plan: [], done: ["add"] });
          assert.deepEqual(await run("compiled", { name: "PATH" }), {
            name: "PATH",
            found: process.env.PATH,
          });
          assert.partialDeepStrictEqual(await run("made", {}), { seen: { node: "plain" } });
          assert.ok("messages" in (await run("promised", { messages: "hi" })));
          assert.equal((await client.assistants.get("promised")).description, "Knows the weather.");
        });
      },
    },
    {
      of: "graphs: the second argument of a function",
      heddle: "says what the graph is wanted for, with the run's context",
      async check({ serve }) {
        await serve({ graphs: { made: fixture("graphs-forms/factory.ts:made") } }, async ({ client }) => {
          assert.partialDeepStrictEqual(
            await client.runs.wait(null, "made", { input: {}, context: { user: "ada" } }),
            {
              seen: {
                runtime: {
                  accessContext: "threads.create_run",
                  executionRuntime: { context: { user: "ada" } },
                },
              },
            },
          );
          const { nodes } = await client.assistants.getGraph("made");
          assert.ok(nodes.some(({ id }) => String(id).startsWith("assistants.read")));
        });
      },
    },
    {
      of: "graphs: one that cannot be loaded",
      heddle: "is 409 with the reason, also for the state of its threads; the others are served",
      dev: "the server does not start",
      why: "one broken file need not take the others down",
      async check({ serve }) {
        const graphs = { ...steps, broken: fixture("graphs-forms/broken/thrower.ts:graph") };
        await serve({ graphs }, async ({ client }) => {
          const { thread_id } = await client.threads.create({ graphId: "broken" });
          await assert.rejects(
            client.runs.wait(thread_id, "broken", { input: {} }),
            /HTTP 409.*no luck today/,
          );
          await assert.rejects(client.threads.getState(thread_id), /HTTP 409.*no luck today/);
          assert.deepEqual(await client.runs.wait(null, "steps", { input: { plan: ["add"] } }), {
            plan: [],
            done: ["add"],
          });
        });
      },
    },
    {
      of: "env: a file",
      heddle: "is read beside langgraph.json, and put into the environment of the graphs",
      async check({ serve }) {
        const name = newName();
        const files = { ".env": `# a comment\n${name}="from the file"\n` };
        await serve(
          { graphs: environment, env: ".env" },
          async (served) => assert.equal(await lookUp(served, name), "from the file"),
          files,
        );
      },
    },
    {
      of: "env: an object",
      heddle: "is put into the environment of the graphs; what is set there already stays",
      async check({ serve }) {
        const [name, set] = [newName(), newName()];
        process.env[set] = "from outside";
        const env = { [name]: "from langgraph.json", [set]: "from langgraph.json" };
        await serve({ graphs: environment, env }, async (served) => {
          assert.equal(await lookUp(served, name), "from langgraph.json");
          assert.equal(await lookUp(served, set), "from outside");
        });
      },
    },
    {
      of: "env: a list",
      heddle: "names what must be set: without one of them the server does not start",
      dev: "does not start with a list: `Env storage is not supported`",
      why: "the platform sets what is listed; elsewhere somebody else has to",
      async check({ serve }) {
        const name = newName();
        const start = () =>
          serve({ graphs: environment, env: [name] }, async (served) => {
            assert.equal(await lookUp(served, name), "from outside");
          });
        await assert.rejects(start(), new RegExp(`${name} must be set`));
        process.env[name] = "from outside";
        await start();
      },
    },
    {
      of: "store.index",
      heddle: "lets searches of the store rank by similarity, over the fields that it names",
      dev: "is ignored",
      why: "the platform has it",
      async check({ serve }) {
        const index = { dims: 8, embed: fixture("store/embed.ts:embed"), fields: ["text"] };
        await serve({ graphs: steps, store: { index } }, async ({ client }) => {
          for (const text of ["aaaa", "abab", "bbbb"]) await client.store.putItem(["notes"], text, { text });
          await client.store.putItem(["notes"], "apart", { text: "aaaa" }, { index: false });
          await client.store.putItem(["notes"], "elsewhere", { other: "aaaa" });
          const { items } = await client.store.searchItems(["notes"], { query: "a" });
          const ranked = items.filter(({ score }) => typeof score === "number");
          assert.deepEqual(
            ranked.map(({ key }) => key),
            ["aaaa", "abab", "bbbb"],
          );
        });
      },
    },
    {
      of: "store.ttl",
      heddle: "is the time of items that are put without one of their own",
      dev: "is ignored",
      why: "the platform has it",
      async check({ serve }) {
        const ttl = { default_ttl: 0.001, refresh_on_read: false };
        await serve({ graphs: steps, store: { ttl } }, async ({ client }) => {
          await client.store.putItem(["notes"], "kept", {}, { ttl: 60 });
          await client.store.putItem(["notes"], "short", {});
          while ((await client.store.getItem(["notes"], "short")) !== null);
          assert.equal((await client.store.getItem(["notes"], "kept"))?.key, "kept");
        });
      },
    },
    {
      of: "checkpointer.ttl",
      heddle: "is the time to live of threads that are made without one of their own",
      dev: "is ignored",
      why: "the platform has it",
      async check({ serve }) {
        const ttl = { strategy: "keep_latest", default_ttl: 30 };
        await serve({ graphs: steps, checkpointer: { ttl } }, async ({ client, request }) => {
          const { thread_id } = await client.threads.create();
          const { json } = await request("GET", `/threads/${thread_id}?include=ttl`);
          assert.partialDeepStrictEqual(json.ttl, { strategy: "keep_latest", ttl_minutes: 30 });
        });
      },
    },
    {
      of: "http.disable_assistants, disable_threads, disable_runs, disable_store, disable_meta",
      heddle: "take their routes away, 404, and no others",
      async check({ serve }) {
        const keys = Object.keys(DISABLED) as (keyof typeof DISABLED)[];
        const half = (start: number) => keys.filter((_, index) => index % 2 === start);
        for (const disabled of [half(0), half(1)]) {
          const http = Object.fromEntries(disabled.map((key) => [key, true]));
          await serve({ graphs: steps, http }, async ({ request }) => {
            for (const key of keys) {
              const [method, route, body] = DISABLED[key];
              const { status } = await request(method, route, body);
              assert.equal(status, disabled.includes(key) ? 404 : 200, key);
            }
          });
        }
      },
    },
    {
      of: "http.configurable_headers",
      heddle: "says which headers of a request its runs find in configurable",
      dev: "is ignored",
      why: "the platform has it",
      async check({ serve }) {
        const http = {
          configurable_headers: { includes: ["x-mine-*", "authorization"], excludes: ["x-mine-not"] },
        };
        const graphs = { made: fixture("conformance/made.ts:graph") };
        await serve({ graphs, http }, async ({ request }) => {
          const headers = {
            "x-mine-too": "1",
            "x-mine-not": "2",
            "x-other": "3",
            authorization: "4",
          };
          const run = { assistant_id: "made", input: {} };
          const { json } = await request("POST", "/runs/wait", run, headers);
          const own = Object.entries(json.seen.own).filter(([name]) => name in headers);
          assert.deepEqual(Object.fromEntries(own), { "x-mine-too": "1", authorization: "4" });
        });
      },
    },
    {
      of: "http.cors: allow_origin_regex, allow_methods, allow_headers, allow_credentials, expose_headers, max_age",
      heddle: "say what a page may do; the pattern wins over the list, and has to match the whole origin",
      dev: "the pattern may match any part of the origin",
      why: "`https://chat\\.example` would let https://chat.example.evil.example in",
      async check({ serve }) {
        const cors = {
          allow_origins: ["https://listed.example"],
          allow_origin_regex: "https://.*\\.mine\\.example",
          allow_methods: ["GET", "POST"],
          allow_headers: ["x-api-key"],
          allow_credentials: true,
          expose_headers: ["x-own"],
          max_age: 60,
        };
        await serve({ graphs: steps, http: { cors } }, async ({ url }) => {
          const preflight = async (origin: string) => {
            const headers = { origin, "access-control-request-method": "POST" };
            return (await fetch(`${url}/threads`, { method: "OPTIONS", headers })).headers;
          };
          const allowed = await preflight("https://chat.mine.example");
          assert.equal(allowed.get("access-control-allow-origin"), "https://chat.mine.example");
          assert.equal(allowed.get("access-control-allow-credentials"), "true");
          assert.equal(allowed.get("access-control-max-age"), "60");
          assert.match(allowed.get("access-control-allow-methods") ?? "", /^GET, ?POST$/);
          assert.equal(allowed.get("access-control-allow-headers"), "x-api-key");
          for (const origin of ["https://listed.example", "https://chat.mine.example.evil.example"])
            assert.equal((await preflight(origin)).get("access-control-allow-origin"), null, origin);
          const origin = "https://chat.mine.example";
          const { headers } = await fetch(`${url}/info`, { headers: { origin } });
          assert.match(headers.get("access-control-expose-headers") ?? "", /x-own/);
          assert.match(headers.get("access-control-expose-headers") ?? "", /content-location/);
        });
      },
    },
    {
      of: "auth, with http.app",
      heddle:
        "is asked before the project's own routes, too; a webhook to one of them comes as the run's caller",
      dev: "such a webhook is 401, which nobody hears of",
      why: "whoever asks for a run by the rules may hear of its end",
      async check({ serve, sdk }) {
        const project = {
          graphs: steps,
          auth: { path: fixture("auth/auth.ts:auth") },
          http: { app: fixture("auth/app.ts:app") },
        };
        await serve(project, async ({ url, request }) => {
          const { signToken } = await import("../../fixtures/auth/tokens.ts");
          const headers = { authorization: `Bearer ${await signToken("ann")}` };
          assert.equal((await request("GET", "/mine")).status, 401);
          assert.deepEqual((await request("GET", "/mine", undefined, headers)).json, { mine: true });
          const client = new sdk.Client({ apiUrl: url, defaultHeaders: headers });
          const { thread_id } = await client.threads.create();
          const run = await client.runs.create(thread_id, "steps", {
            input: { plan: ["add"] },
            webhook: "/done",
          });
          let told: { webhook: string }[] = [];
          while (!told.some(({ webhook }) => webhook === run.run_id))
            told = (await request("GET", "/done", undefined, headers)).json;
        });
      },
    },
  ],
};
