// A row for each route of the server: how it is asked for something that has an owner. The matrix of
// test/api/access-matrix.test.ts is made from it; a route without a row fails there.
import { type Belongings, upload } from "./belongings.ts";

export interface Row {
  /**
   * `one`: about what the ids name; somebody else's is answered like nothing at all.
   * `list`: shows what is the caller's own.
   * `name`: gives something the id that the caller names, which can be taken.
   * `shared`: the same for all callers. `open`: even for those without credentials.
   */
  readonly kind: "one" | "list" | "name" | "shared" | "open";
  /** Parts of the path that are nobody's. */
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: (own: Belongings) => unknown;
  readonly query?: (own: Belongings) => Record<string, string>;
  /** What the owner's answer of a `list` has and nobody else's; the mark if it is left out. */
  readonly shows?: (own: Belongings) => string;
  /** What the owner gets; any answer below 400 if it is left out. */
  readonly status?: number;
  /** What is shared is another thing each time. */
  readonly varies?: true;
  /** The answer has no end: only its beginning is read. */
  readonly endless?: true;
}

const one: Row = { kind: "one" };
const shared: Row = { kind: "shared" };
const list: Row = { kind: "list" };
const input = { messages: [{ role: "user", content: "again" }] };
const run = { assistant_id: "echo", input, multitask_strategy: "enqueue" };
const marked = ({ mark }: Belongings) => ({ metadata: { mark } });
/** One, and not none. */
const counted: Row = { kind: "list", body: marked, shows: () => "1" };
/** A run of an assistant that somebody has made. */
const stateless: Row = {
  kind: "one",
  body: ({ assistant_id }) => ({ ...run, assistant_id }),
};

export const ROWS: Record<string, Row> = {
  "GET /ok": { kind: "open" },
  "GET /info": { kind: "open" },
  "GET /models": shared,
  "GET /metrics": { ...shared, varies: true },
  "GET /openapi.json": shared,
  "GET /docs": shared,
  "GET /docs/json": shared,
  "GET /docs/yaml": shared,
  "GET /docs/static/index.html": shared,
  "GET /docs/static/swagger-initializer.js": shared,
  "GET /docs/static/*": { ...shared, params: { "*": "swagger-ui.css" } },
  // Only with ALLOW_TRUNCATE; without a word of what, it deletes nothing.
  "POST /internal/truncate": { ...shared, body: () => ({}) },
  "POST /ui/:agent": { ...shared, params: { agent: "weather" }, body: () => ({ name: "weather" }) },
  "GET /ui/:agent/:basename": { kind: "open", params: { agent: "weather", basename: "entrypoint.js" } },

  "POST /assistants": {
    kind: "name",
    body: ({ assistant_id }) => ({ assistant_id, graph_id: "echo", if_exists: "do_nothing" }),
  },
  "POST /assistants/search": { ...list, body: marked },
  "POST /assistants/count": counted,
  "GET /assistants/:assistant_id": one,
  "PATCH /assistants/:assistant_id": { ...one, body: () => ({ name: "renamed" }) },
  "DELETE /assistants/:assistant_id": one,
  "GET /assistants/:assistant_id/graph": one,
  "GET /assistants/:assistant_id/schemas": one,
  "GET /assistants/:assistant_id/subgraphs": one,
  "GET /assistants/:assistant_id/subgraphs/:namespace": one,
  "POST /assistants/:assistant_id/latest": { ...one, body: () => ({ version: 1 }) },
  "POST /assistants/:assistant_id/versions": { ...one, body: () => ({}) },

  "POST /threads": { kind: "name", body: ({ thread_id }) => ({ thread_id, if_exists: "do_nothing" }) },
  "POST /threads/search": { ...list, body: marked },
  "POST /threads/count": counted,
  "POST /threads/prune": {
    ...one,
    body: ({ thread_id }) => ({ thread_ids: [thread_id], strategy: "delete" }),
  },
  "GET /threads/:thread_id": one,
  "PATCH /threads/:thread_id": { ...one, body: () => ({ metadata: { renamed: true } }) },
  "DELETE /threads/:thread_id": one,
  "POST /threads/:thread_id/copy": one,
  "GET /threads/:thread_id/state": one,
  "POST /threads/:thread_id/state": { ...one, body: () => ({ values: input }) },
  "PATCH /threads/:thread_id/state": { ...one, body: () => ({ metadata: { a: 1 } }) },
  "GET /threads/:thread_id/state/:checkpoint_id": one,
  "POST /threads/:thread_id/state/checkpoint": {
    ...one,
    body: ({ checkpoint_id }) => ({ checkpoint: { checkpoint_id } }),
  },
  "GET /threads/:thread_id/history": one,
  "POST /threads/:thread_id/history": { ...one, body: () => ({}) },
  "GET /threads/:thread_id/export": one,
  "POST /threads/import": {
    kind: "name",
    body: ({ thread_id }) => {
      const header = { heddle: "thread", version: 1, thread: { thread_id, metadata: {}, config: {} } };
      return new Blob([`${JSON.stringify(header)}\n{"end":{"lines":1}}\n`]);
    },
  },
  "GET /sessions/:session_id": one,
  "PUT /sessions/:session_id": {
    kind: "list",
    body: ({ mark }) => ({
      chat_message_store_state: { messages: [{ type: "human", data: { content: mark } }] },
    }),
  },
  "DELETE /sessions/:session_id": one,
  "GET /threads/:thread_id/conversation": one,
  "PATCH /threads/:thread_id/conversation": {
    ...one,
    body: ({ mark }) => ({ values: { objective: mark } }),
  },
  "GET /threads/:thread_id/notifications": { ...one, endless: true },
  "GET /threads/:thread_id/messages/:message_id/state": one,
  "POST /threads/:thread_id/checkpoints": { ...one, body: () => ({ metadata: { a: 1 } }) },
  "GET /threads/:thread_id/checkpoints": one,
  "GET /threads/:thread_id/checkpoints/:workflow_checkpoint_id": one,
  "POST /threads/:thread_id/checkpoints/:workflow_checkpoint_id/restore": {
    ...one,
    body: () => ({ new_thread: true }),
  },
  "DELETE /threads/:thread_id/checkpoints/:workflow_checkpoint_id": one,
  "GET /threads/:thread_id/stream": { ...one, endless: true },
  "POST /threads/:thread_id/commands": { ...one, body: () => ({ id: 1, method: "state.get", params: {} }) },
  "POST /threads/:thread_id/stream/events": { ...one, body: () => ({ channels: ["values"] }), endless: true },

  // Only a WebSocket gets on here; it has a test of its own.
  "GET /threads/:thread_id/stream/events": { ...one, status: 404 },

  "POST /threads/:thread_id/runs": { ...one, body: ({ assistant_id }) => ({ ...run, assistant_id }) },
  "POST /threads/:thread_id/runs/wait": { ...one, body: ({ assistant_id }) => ({ ...run, assistant_id }) },
  "POST /threads/:thread_id/runs/stream": { ...one, body: ({ assistant_id }) => ({ ...run, assistant_id }) },
  "GET /threads/:thread_id/runs": one,
  "GET /threads/:thread_id/runs/:run_id": one,
  "DELETE /threads/:thread_id/runs/:run_id": one,
  "GET /threads/:thread_id/runs/:run_id/join": one,
  "GET /threads/:thread_id/runs/:run_id/stream": one,
  "GET /threads/:thread_id/runs/:run_id/events": one,
  "GET /threads/:thread_id/events": { ...one, endless: true },
  "POST /threads/:thread_id/runs/:run_id/cancel": one,
  "POST /runs": stateless,
  "POST /runs/wait": stateless,
  "POST /runs/stream": stateless,
  "POST /runs/batch": { ...one, body: ({ assistant_id }) => [{ ...run, assistant_id }] },
  "POST /runs/cancel": { ...one, body: ({ thread_id, run_id }) => ({ thread_id, run_ids: [run_id] }) },
  "GET /runs/:run_id/stream": one,

  "POST /threads/:thread_id/runs/crons": {
    ...one,
    body: ({ assistant_id }) => ({ ...run, assistant_id, schedule: "0 0 1 1 *" }),
  },
  "POST /runs/crons": {
    ...one,
    body: ({ assistant_id }) => ({ ...run, assistant_id, schedule: "0 0 1 1 *" }),
  },
  "POST /runs/crons/search": { ...list, body: marked },
  "POST /runs/crons/count": counted,
  "GET /runs/crons/:cron_id": one,
  "PATCH /runs/crons/:cron_id": { ...one, body: () => ({ enabled: false }) },
  "DELETE /runs/crons/:cron_id": one,

  "PUT /store/items": { kind: "list", body: ({ key, mark }) => ({ namespace: ["n"], key, value: { mark } }) },
  "GET /store/items": { ...one, query: ({ key }) => ({ namespace: "n", key }) },
  "DELETE /store/items": { ...one, body: ({ key }) => ({ namespace: ["n"], key }) },
  "POST /store/items/search": { ...list, body: () => ({ namespace_prefix: ["n"], limit: 1000 }) },
  "POST /store/namespaces": { ...list, body: () => ({ limit: 1000 }) },

  "POST /threads/:thread_id/uploads": { ...one, body: () => upload("new.txt", "new") },
  "GET /threads/:thread_id/uploads": one,
  "DELETE /threads/:thread_id/uploads/:filename": one,
  "GET /threads/:thread_id/artifacts/*": { ...one, status: 404 },
};
