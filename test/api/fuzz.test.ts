// Requests of all kinds to every route that the server has: what is wrong is refused with a sentence, nothing is
// answered with a server error, and the server is well afterwards. The seed is fixed; a failure shows the request.
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { type Route, readRoutes } from "../helpers/routes.ts";

let heddle: TestApp;
let threadId: string;
let runId: string;
let checkpointId: string;
let routes: Route[];

beforeAll(async () => {
  heddle = await startApp({ env: { MAX_BODY_MB: "1", MAX_UPLOAD_MB: "1" } });
  // A thread's joined stream, its envelopes and its notifications are open as long as their reader is there. The files of the page of documentation are served by a
  // library, in its own words.
  routes = readRoutes(heddle.app.server).filter(
    ({ path }) =>
      !/^.threads.:thread_id.(stream|notifications|events)$/.test(path) && !path.startsWith("/docs/static/"),
  );
  await renewThread();
});
afterAll(() => heddle.close());

/** A thread with a run, a checkpoint and an upload, so that right ids lead somewhere. */
async function renewThread(): Promise<void> {
  threadId = (await heddle.client.threads.create()).thread_id;
  await heddle.client.runs.wait(threadId, "echo", { input: { messages: [{ role: "user", content: "a" }] } });
  runId = (await heddle.client.runs.list(threadId))[0]?.run_id ?? "";
  checkpointId = (await heddle.client.threads.getState(threadId)).checkpoint.checkpoint_id ?? "";
  const form = new FormData();
  form.append("files", new Blob(["a"]), "a.txt");
  await fetch(`${heddle.url}/threads/${threadId}/uploads`, { method: "POST", body: form });
}

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom("", "\0", "\ud800", "..", "../../etc/passwd", "' or 1=1--", "__proto__", "constructor"),
  fc.constantFrom("x".repeat(5_000), "-1", "1e400", "NaN", "null", "true", "[]"),
);
const json = fc.oneof(
  { weight: 4, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: text },
);
const id = fc.constantFrom("thread", "run", "checkpoint", "nobody").map((kind) => `<${kind}>`);
const graph = fc.constantFrom("echo", "made", "promised", "builder");
const message = fc.record({ role: fc.constantFrom("user", "assistant", "tool", "x"), content: json });
const checkpoint = fc.record({ checkpoint_id: id, checkpoint_ns: text }, { requiredKeys: [] });

/** What the API knows by these names, and what it does not expect there. */
const FIELDS: Record<string, fc.Arbitrary<unknown>> = {
  assistant_id: graph,
  graph_id: graph,
  thread_id: id,
  input: fc.oneof(fc.record({ messages: fc.array(message, { maxLength: 3 }) }), json),
  command: fc.record({ goto: json, update: json, resume: json }, { requiredKeys: [] }),
  config: fc.record({ tags: json, recursion_limit: json, configurable: json }, { requiredKeys: [] }),
  context: json,
  metadata: fc.dictionary(text, json, { maxKeys: 3 }),
  checkpoint,
  checkpoint_id: id,
  before: fc.oneof(id, fc.record({ configurable: checkpoint })),
  values: fc.oneof(fc.record({ messages: fc.array(message, { maxLength: 2 }) }), json),
  as_node: fc.oneof(fc.constantFrom("echo", "__start__", "__end__"), text),
  stream_mode: fc.subarray(["values", "updates", "messages-tuple", "custom"]),
  stream_subgraphs: fc.boolean(),
  interrupt_before: fc.oneof(fc.constant("*"), fc.array(text, { maxLength: 2 })),
  interrupt_after: fc.oneof(fc.constant("*"), fc.array(text, { maxLength: 2 })),
  multitask_strategy: fc.constantFrom("reject", "enqueue", "interrupt", "rollback"),
  if_not_exists: fc.constantFrom("create", "reject"),
  if_exists: fc.constantFrom("raise", "do_nothing"),
  on_disconnect: fc.constantFrom("cancel", "continue"),
  on_completion: fc.constantFrom("delete", "keep"),
  ids: fc.array(id, { maxLength: 3 }),
  status: fc.constantFrom("idle", "busy", "success", "error"),
  sort_by: fc.constantFrom("created_at", "status", "name"),
  sort_order: fc.constantFrom("asc", "desc"),
  select: fc.array(fc.constantFrom("thread_id", "values", "x"), { maxLength: 3 }),
  limit: fc.oneof(fc.integer(), fc.integer({ min: 1, max: 20 })),
  offset: fc.oneof(fc.integer(), fc.integer({ min: 0, max: 3 })),
  name: text,
  subgraphs: fc.oneof(fc.boolean(), text),
};
const fields = fc.record(
  Object.fromEntries(
    Object.entries(FIELDS).map(([name, right]) => [
      name,
      fc.oneof({ weight: 9, arbitrary: right }, { weight: 1, arbitrary: json }),
    ]),
  ),
  { requiredKeys: [] },
);
/** Fewer of them at once, or hardly a request would be right in all of them. */
const some = fc
  .tuple(fields, fc.subarray(Object.keys(FIELDS), { maxLength: 4 }), fc.boolean())
  .map(([all, names, withGraph]) => ({
    ...Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name))),
    ...(withGraph ? { assistant_id: "echo" } : {}),
  }));

const BOUNDARY = "--b\r\ncontent-disposition: form-data; name=";
const body = fc.oneof(
  { weight: 12, arbitrary: some.map((value) => ({ type: "application/json", text: JSON.stringify(value) })) },
  { weight: 2, arbitrary: json.map((value) => ({ type: "application/json", text: JSON.stringify(value) })) },
  { weight: 1, arbitrary: text.map((content) => ({ type: "application/json", text: content })) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constantFrom("text/plain", "text/xml", "multipart/form-data"), text }),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom("files", "file", ""), text, text, fc.boolean())
      .map(([field, name, content, whole]) => ({
        type: "multipart/form-data; boundary=b",
        text: `${BOUNDARY}"${field}"; filename="${name}"\r\n\r\n${content}${whole ? "\r\n--b--\r\n" : ""}`,
      })),
  },
);
const parameter = fc.oneof(
  { weight: 6, arbitrary: fc.constant("<right>") },
  { weight: 1, arbitrary: id },
  { weight: 1, arbitrary: text },
  {
    weight: 1,
    arbitrary: fc.constantFrom("%00", "..%2f..%2fetc%2fpasswd", "%", "%zz", "mnt/user-data/uploads/a.txt"),
  },
);
const query = fc.dictionary(
  fc.constantFrom(
    "limit",
    "offset",
    "before",
    "status",
    "wait",
    "action",
    "subgraphs",
    "download",
    "cancel_on_disconnect",
  ),
  fc.oneof(text, fc.constantFrom("1", "0", "interrupt", "rollback", "<checkpoint>")),
  { maxKeys: 2 },
);
const headers = fc.record(
  {
    "last-event-id": fc.constantFrom("0", "-1", "x", "99999999999999999999"),
    range: fc.constantFrom("bytes=0-0", "bytes=5-1", "bytes=9-", "bytes=-0", "x"),
    accept: fc.constantFrom("text/html", "*/*"),
    "x-api-key": fc.constant("key"),
  },
  { requiredKeys: [] },
);
const request = fc.record({
  route: fc.nat(),
  parameters: fc.array(parameter, { minLength: 3, maxLength: 3 }),
  query,
  headers,
  body,
});
type Request = typeof request extends fc.Arbitrary<infer Value> ? Value : never;

/** Ids are known only when the server runs; the requests are made before. */
const withIds = (value: string) =>
  value
    .replaceAll("<thread>", threadId)
    .replaceAll("<run>", runId)
    .replaceAll("<checkpoint>", checkpointId)
    .replaceAll("<nobody>", randomUUID());

const RIGHT: Record<string, string> = {
  ":thread_id": "<thread>",
  ":run_id": "<run>",
  ":checkpoint_id": "<checkpoint>",
  ":assistant_id": "echo",
  ":filename": "a.txt",
  "*": "mnt/user-data/outputs/a.txt",
};

async function send({ route, parameters, query, headers, body }: Request) {
  const { method, path } = routes[route % routes.length] as Route;
  const rest = [...parameters];
  const filled = path.replaceAll(/:\w+|\*/g, (name) => {
    const value = rest.shift() ?? "<right>";
    if (value === "<right>") return RIGHT[name] ?? "";
    return value.startsWith("%") || value.includes("%2f")
      ? value
      : encodeURIComponent(value.toWellFormed()).replaceAll("%3C", "<").replaceAll("%3E", ">");
  });
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, withIds(value)] as [string, string]),
  );
  const hasBody = ["POST", "PATCH", "PUT", "DELETE"].includes(method);
  const response = await fetch(`${heddle.url}${withIds(filled)}?${search}`, {
    method,
    headers: { ...headers, ...(hasBody ? { "content-type": body.type } : {}) },
    ...(hasBody ? { body: withIds(body.text) } : {}),
  });
  return { method, response, text: await response.text() };
}

it("no request is answered with a server error, and every refusal says why", async () => {
  expect(routes).toContainEqual({ method: "GET", path: "/threads/:thread_id/artifacts/*" });
  expect(routes.length).toBeGreaterThan(40);
  let right = 0;
  await fc.assert(
    fc.asyncProperty(request, async (made) => {
      const { method, response, text } = await send(made);
      const { status } = response;
      expect(status, `${method} ${response.url}\n${text}`).toBeLessThan(500);
      expect(text).not.toContain(heddle.dataDir);
      expect(text).not.toMatch(/node_modules|\.ts:\d|StreamError|JoinError/);
      if (status >= 400 && method !== "HEAD")
        expect(text, `${method} ${response.url} ${status}`).toMatch(/\w{3,} \w+/);
      if (status < 400) right++;
      if (status === 204 && method === "DELETE") await renewThread();
    }),
    { seed: 20_261, numRuns: 600, endOnFailure: true },
  );
  // Requests that all fail at the door would try nothing.
  expect(right).toBeGreaterThan(200);
  expect((await fetch(`${heddle.url}/ok`)).status).toBe(200);
  await renewThread();
});
