// Crons over HTTP, with both SDKs: their routes, and that each firing makes one run.
import { Client } from "langgraph-sdk-next";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { human, lastText } from "../helpers/sdk.ts";

let one: TestApp;
let two: TestApp;
let next: Client;

beforeAll(async () => {
  one = await startApp();
  two = await startApp({ beside: one });
  next = new Client({ apiUrl: one.url, callerOptions: { maxRetries: 0 } });
});

afterAll(async () => {
  await two.close();
  await one.close();
});

const YEARLY = "0 0 1 1 *";
const UNKNOWN = "00000000-0000-4000-8000-000000000000";

async function send(method: string, path: string, body?: unknown) {
  const response = await fetch(`${one.url}${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const makeDue = (cronId: string, ago = "1 minute") =>
  one.database.db.query(
    "update heddle.crons set next_run_date = clock_timestamp() - $2::interval where cron_id = $1::uuid",
    [cronId, ago],
  );

/** Any change makes a server look. */
async function wake(...apps: TestApp[]) {
  const { cron_id } = await one.client.crons.create("echo", { schedule: YEARLY });
  for (const { client } of apps) await client.crons.update(cron_id, {});
  await one.client.crons.delete(cron_id);
}

const runsOf = (cronId: string) =>
  one.database.db.query<{ run_id: string; thread_id: string; status: string; metadata: object }>(
    "select run_id, thread_id, status, metadata from heddle.runs where metadata ->> 'cron_id' = $1::text",
    [cronId],
  );

async function finished(cronId: string, count = 1) {
  await wake(one);
  return expect
    .poll(async () => (await runsOf(cronId)).filter(({ status }) => status === "success").length, {
      timeout: 10_000,
    })
    .toBe(count);
}

describe("a cron", () => {
  it("is made, read, found, counted, changed and removed with the SDK", async () => {
    const made = await next.crons.create("echo", {
      schedule: "0 9 * * *",
      timezone: "Europe/Berlin",
      endTime: "2090-01-01T00:00:00",
      input: human("hi"),
      metadata: { team: "red" },
      config: { configurable: { colour: "blue" } },
      multitaskStrategy: "enqueue",
      streamMode: ["updates"],
      onRunCompleted: "keep",
    });
    expect(made).toMatchObject({
      thread_id: null,
      schedule: "0 9 * * *",
      timezone: "Europe/Berlin",
      end_time: "2090-01-01T00:00:00.000Z",
      user_id: null,
      enabled: true,
      on_run_completed: "keep",
      metadata: { team: "red" },
      payload: {
        input: human("hi"),
        metadata: { team: "red" },
        config: { configurable: { colour: "blue" } },
        multitask_strategy: "enqueue",
        stream_mode: ["updates"],
      },
    });
    expect(made.payload).not.toHaveProperty("schedule");
    const { cron_id } = made;
    expect(JSON.parse((await send("GET", `/runs/crons/${cron_id}`)).text)).toEqual(made);
    expect(await next.crons.search({ assistantId: "echo", metadata: { team: "red" } })).toEqual([made]);
    expect(await next.crons.search({ metadata: { team: "red" }, select: ["cron_id", "schedule"] })).toEqual([
      { cron_id, schedule: "0 9 * * *" },
    ]);
    expect(await next.crons.count({ assistantId: made.assistant_id, metadata: { team: "red" } })).toBe(1);
    expect(await next.crons.count({ metadata: { team: "blue" } })).toBe(0);
    expect(await next.crons.search({ assistantId: "nobody" })).toEqual([]);

    const changed = await next.crons.update(cron_id, {
      schedule: "0 10 * * *",
      endTime: null,
      input: human("ho"),
      metadata: { room: 7 },
    });
    expect(changed).toMatchObject({
      schedule: "0 10 * * *",
      end_time: null,
      metadata: { team: "red", room: 7 },
      payload: { input: human("ho"), stream_mode: ["updates"] },
    });
    expect(changed.next_run_date).not.toBe(made.next_run_date);

    await next.crons.delete(cron_id);
    expect(await send("DELETE", `/runs/crons/${cron_id}`)).toMatchObject({ status: 404 });
    expect(await next.crons.count({ metadata: { team: "red" } })).toBe(0);
  });

  it("is announced in /info", async () => {
    expect(JSON.parse((await send("GET", "/info")).text).flags.crons).toBe(true);
  });

  it("says when it fires next, by its time zone", async () => {
    const { cron_id, next_run_date } = await next.crons.create("echo", {
      schedule: "30 6 * * *",
      timezone: "Asia/Kathmandu",
    });
    expect(new Date(next_run_date).getTime()).toBeGreaterThan(Date.now());
    expect(next_run_date).toMatch(/T00:45:00.000Z$/);
    const utc = await next.crons.update(cron_id, { timezone: "UTC" });
    expect(utc.next_run_date).toMatch(/T06:30:00.000Z$/);
    await next.crons.delete(cron_id);
  });

  it("has no next date while it is disabled, and none after its end", async () => {
    const { cron_id } = await next.crons.create("echo", { schedule: YEARLY, enabled: false });
    expect(await next.crons.search({ enabled: false })).toMatchObject([{ cron_id, next_run_date: null }]);
    expect((await next.crons.update(cron_id, { enabled: true })).next_run_date).toMatch(/-01-01T00:00/);
    expect((await next.crons.update(cron_id, { endTime: "2020-01-01T00:00:00Z" })).next_run_date).toBeNull();
    expect((await next.crons.update(cron_id, { endTime: null })).next_run_date).toMatch(/-01-01T00:00/);
    await next.crons.delete(cron_id);
  });

  it("is listed in pages, sorted", async () => {
    const ids: string[] = [];
    for (const schedule of ["0 0 3 1 *", "0 0 1 1 *", "0 0 2 1 *"]) {
      ids.push((await next.crons.create("script", { schedule, metadata: { list: 1 } })).cron_id);
    }
    const found = await next.crons.search({
      metadata: { list: 1 },
      sortBy: "next_run_date",
      sortOrder: "asc",
      limit: 2,
    });
    expect(found.map(({ cron_id }) => cron_id)).toEqual([ids[1], ids[2]]);
    const { headers } = await send("POST", "/runs/crons/search", { metadata: { list: 1 }, limit: 2 });
    expect(headers.get("x-pagination-total")).toBe("3");
    expect(headers.get("x-pagination-next")).toBe("2");
    for (const id of ids) await next.crons.delete(id);
  });

  it("goes with its thread", async () => {
    const { thread_id } = await next.threads.create();
    const { cron_id } = await next.crons.createForThread(thread_id, "echo", { schedule: YEARLY });
    expect(await next.crons.count({ threadId: thread_id })).toBe(1);
    await next.threads.delete(thread_id);
    expect(await send("GET", `/runs/crons/${cron_id}`)).toMatchObject({
      status: 404,
      text: "Cron not found",
    });
  });
});

describe("bad input", () => {
  const good = { assistant_id: "echo", schedule: YEARLY };

  it.each([
    ["schedule", { schedule: undefined }],
    ["schedule", { schedule: "0 0 30 2 *" }],
    ["schedule", { schedule: "0 0 0 1 1 *" }],
    ["timezone", { timezone: "Mars/Olympus" }],
    ["end_time", { end_time: "tomorrow" }],
    ["end_time", { end_time: "2020-01-01T00:00:00Z" }],
    ["enabled", { enabled: "yes" }],
    ["on_run_completed", { on_run_completed: "archive" }],
    ["multitask_strategy", { multitask_strategy: "wait" }],
    ["stream_mode", { stream_mode: "shout" }],
    ["webhook", { webhook: "http://127.0.0.1/hook" }],
    ["webhook", { webhook: "ftp://example.com" }],
    ["config", { config: 7 }],
  ])("names %s", async (field, change) => {
    for (const path of ["/runs/crons", `/threads/${(await next.threads.create()).thread_id}/runs/crons`]) {
      const { status, text } = await send("POST", path, { ...good, ...change });
      expect(status).toBe(422);
      expect(text).toContain(`body.${field}`);
    }
  });

  it("of a change names the field and changes nothing", async () => {
    const made = await next.crons.create("echo", { schedule: YEARLY });
    for (const [field, value] of [
      ["schedule", "never"],
      ["timezone", "Nowhere"],
      ["end_time", 5],
      ["webhook", "http://[::1]/"],
    ] as const) {
      const { status, text } = await send("PATCH", `/runs/crons/${made.cron_id}`, { [field]: value });
      expect(status).toBe(422);
      expect(text).toContain(`body.${field}`);
    }
    expect(await next.crons.search({ limit: 1 })).toEqual([made]);
    await next.crons.delete(made.cron_id);
  });

  it("with unknown ids is 404", async () => {
    expect(await send("POST", "/runs/crons", { ...good, assistant_id: "nobody" })).toMatchObject({
      status: 404,
    });
    expect(await send("POST", `/threads/${UNKNOWN}/runs/crons`, good)).toMatchObject({ status: 404 });
    expect(await send("GET", `/runs/crons/${UNKNOWN}`)).toMatchObject({ status: 404 });
    expect(await send("PATCH", `/runs/crons/${UNKNOWN}`, {})).toMatchObject({ status: 404 });
    expect(await send("DELETE", `/runs/crons/${UNKNOWN}`)).toMatchObject({ status: 404 });
    expect(await send("GET", "/runs/crons/7")).toMatchObject({ status: 422 });
  });
});

describe("a firing", () => {
  it("runs on its thread, with what the payload says", async () => {
    const { thread_id } = await next.threads.create();
    const { cron_id } = await next.crons.createForThread(thread_id, "echo", {
      schedule: YEARLY,
      input: human("tick"),
      metadata: { team: "red" },
    });
    await makeDue(cron_id);
    await finished(cron_id);
    const [run] = await runsOf(cron_id);
    expect(run).toMatchObject({ thread_id, metadata: { cron_id, team: "red" } });
    expect(lastText((await next.threads.getState(thread_id)).values)).toBe("echo tick");

    await makeDue(cron_id);
    await finished(cron_id, 2);
    expect((await next.threads.getHistory(thread_id)).length).toBeGreaterThan(4);
    await next.crons.delete(cron_id);
  });

  it("makes up with one run for all that was missed, and goes on with what is to come", async () => {
    const { cron_id } = await next.crons.create("echo", { schedule: "0 * * * *", input: human("tick") });
    await makeDue(cron_id, "3 days");
    await finished(cron_id);
    const [cron] = await next.crons.search({ sortBy: "created_at", limit: 1 });
    expect(cron?.cron_id).toBe(cron_id);
    expect(new Date(cron?.next_run_date ?? 0).getTime()).toBeGreaterThan(Date.now());
    expect(await runsOf(cron_id)).toHaveLength(1);
    await next.crons.delete(cron_id);
  });

  it("that is stateless keeps its thread or gives it up, as on_run_completed says", async () => {
    const [kept, given] = await Promise.all(
      (["keep", "delete"] as const).map((onRunCompleted) =>
        next.crons.create("echo", { schedule: YEARLY, input: human("tick"), onRunCompleted }),
      ),
    );
    for (const cron of [kept, given]) await makeDue(cron?.cron_id ?? "");
    await finished(kept?.cron_id ?? "");
    await finished(given?.cron_id ?? "");
    const expiry = async (cronId = "") => {
      const [run] = await runsOf(cronId);
      const [thread] = await one.database.db.query<{ delete_after: Date | null }>(
        "select delete_after from heddle.threads where thread_id = $1::uuid",
        [run?.thread_id],
      );
      return thread?.delete_after;
    };
    expect(await expiry(kept?.cron_id)).toBeNull();
    expect(await expiry(given?.cron_id)).toBeInstanceOf(Date);
  });

  it("that fails is noted and keeps no other from firing", async () => {
    const { thread_id } = await next.threads.create();
    const busy = await next.runs.create(thread_id, "echo", { input: human("later"), afterSeconds: 3600 });
    const failing = await next.crons.createForThread(thread_id, "echo", {
      schedule: "0 * * * *",
      input: human("tick"),
      multitaskStrategy: "reject",
    });
    const orphan = await next.crons.create("script", { schedule: "0 * * * *", input: human("tick") });
    await one.database.db.query(
      "update heddle.assistants set graph_id = 'gone' where assistant_id = $1::uuid",
      [orphan.assistant_id],
    );
    const healthy = await next.crons.create("echo", { schedule: "0 * * * *", input: human("tick") });
    await makeDue(failing.cron_id, "3 minutes");
    await makeDue(orphan.cron_id, "2 minutes");
    await makeDue(healthy.cron_id, "1 minute");
    await finished(healthy.cron_id);
    const failure = async (cronId: string) =>
      JSON.parse((await send("GET", `/runs/crons/${cronId}`)).text) as {
        last_failure?: { at: string; message: string };
        next_run_date: string;
      };
    const noted = await failure(failing.cron_id);
    expect(noted.last_failure?.message).toContain("already running a task");
    expect(new Date(noted.next_run_date).getTime()).toBeGreaterThan(Date.now());
    expect((await failure(orphan.cron_id)).last_failure?.message).toContain("No assistant found");
    expect(await runsOf(failing.cron_id)).toEqual([]);
    expect(await failure(healthy.cron_id)).not.toHaveProperty("last_failure");

    await next.runs.cancel(thread_id, busy.run_id, true);
    await makeDue(failing.cron_id);
    await finished(failing.cron_id);
    expect(await failure(failing.cron_id)).not.toHaveProperty("last_failure");
    await one.database.db.query(
      "update heddle.assistants set graph_id = 'script' where assistant_id = $1::uuid",
      [orphan.assistant_id],
    );
    for (const { cron_id } of [failing, orphan, healthy]) await next.crons.delete(cron_id);
  });

  it("of a hundred crons at once is one each, with two servers", async () => {
    const ids = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const { client } = index % 2 ? one : two;
        const cron = await client.crons.create("echo", {
          schedule: YEARLY,
          input: human("tick"),
          metadata: { crowd: 1 },
        });
        return cron.cron_id;
      }),
    );
    await one.database.db.query(
      `update heddle.crons set next_run_date = clock_timestamp() - interval '1 minute'
       where metadata @> '{"crowd": 1}'`,
    );
    await wake(one, two);
    const crowd = () =>
      one.database.db.query<{ cron_id: string; count: string; status: string }>(
        `select metadata ->> 'cron_id' as cron_id, count(*) as count, min(status) as status from heddle.runs
         where metadata @> '{"crowd": 1}' group by 1`,
      );
    await expect
      .poll(async () => (await crowd()).filter(({ status }) => status === "success").length, {
        timeout: 20_000,
      })
      .toBe(100);
    await wake(one, two);
    const made = await crowd();
    expect(new Set(made.map(({ cron_id }) => cron_id))).toEqual(new Set(ids));
    expect(made.every(({ count }) => count === "1")).toBe(true);
  }, 30_000);
});

describe("with keys", () => {
  const KEYS = { ann: "ann-key-0123456789", bob: "bob-key-0123456789" };
  let guarded: TestApp;
  let ann: Client;
  let bob: Client;

  beforeAll(async () => {
    guarded = await startApp({ env: { API_KEYS: `ann:${KEYS.ann},bob:${KEYS.bob}` } });
    [ann, bob] = ([KEYS.ann, KEYS.bob] as const).map(
      (apiKey) => new Client({ apiUrl: guarded.url, apiKey, callerOptions: { maxRetries: 0 } }),
    ) as [Client, Client];
  });

  afterAll(() => guarded.close());

  it("a cron is its maker's, and so are its runs, whatever its body says", async () => {
    const made = await ann.crons.create("echo", {
      schedule: YEARLY,
      input: human("tick"),
      metadata: { owner: "bob", team: "red" },
      onRunCompleted: "keep",
    });
    expect(made).toMatchObject({ user_id: "ann", metadata: { owner: "ann", team: "red" } });
    const changed = await ann.crons.update(made.cron_id, { metadata: { owner: "bob", room: 7 } });
    expect(changed.metadata).toEqual({ owner: "ann", team: "red", room: 7 });
    expect(changed.payload.metadata).toEqual(changed.metadata);

    await guarded.database.db.query("update heddle.crons set next_run_date = clock_timestamp()");
    await ann.crons.update(made.cron_id, { input: human("tock") });
    // The change has moved nothing: it was due already.
    const threads = () => ann.threads.search({ metadata: { cron_id: made.cron_id } });
    await expect
      .poll(async () => (await threads()).map(({ status }) => status), { timeout: 8_000 })
      .toEqual(["idle"]);
    const [thread] = await threads();
    expect(thread?.metadata).toMatchObject({ owner: "ann", team: "red" });
    const [run] = await ann.runs.list(thread?.thread_id ?? "");
    expect(run).toMatchObject({
      kwargs: { config: { configurable: { langgraph_auth_user_id: "ann" } } },
    });
  });

  it("somebody else's is as if it were not there", async () => {
    const { thread_id } = await ann.threads.create({ metadata: { owner: "ann" } });
    const { cron_id } = await ann.crons.createForThread(thread_id, "echo", { schedule: YEARLY });
    await expect(bob.crons.createForThread(thread_id, "echo", { schedule: YEARLY })).rejects.toThrow("404");
    await expect(bob.crons.update(cron_id, { enabled: false })).rejects.toThrow("404");
    await expect(bob.crons.delete(cron_id)).rejects.toThrow("404");
    const headers = { "x-api-key": KEYS.bob };
    expect((await fetch(`${guarded.url}/runs/crons/${cron_id}`, { headers })).status).toBe(404);
    expect(await bob.crons.search()).toEqual([]);
    expect(await bob.crons.count()).toBe(0);
    expect(await ann.crons.count({ threadId: thread_id })).toBe(1);

    const { assistant_id } = await ann.assistants.create({ graphId: "echo" });
    await expect(bob.crons.create(assistant_id, { schedule: YEARLY })).rejects.toThrow("404");
    const own = await ann.crons.create(assistant_id, { schedule: YEARLY });
    expect(own.assistant_id).toBe(assistant_id);
    await ann.assistants.delete(assistant_id);
    await expect(ann.crons.update(own.cron_id, {})).rejects.toThrow("404");
  });

  it("an assistant that its maker does not see any more is not run", async () => {
    const { assistant_id } = await ann.assistants.create({ graphId: "echo" });
    const { cron_id } = await ann.crons.create(assistant_id, { schedule: YEARLY, input: human("tick") });
    const { db } = guarded.database;
    await db.query(
      `update heddle.assistants set metadata = '{"owner": "bob"}' where assistant_id = $1::uuid`,
      [assistant_id],
    );
    await db.query("update heddle.crons set next_run_date = clock_timestamp() where cron_id = $1::uuid", [
      cron_id,
    ]);
    await ann.crons.update(cron_id, {});
    const failure = async () => (await ann.crons.search({ assistantId: assistant_id }))[0];
    await expect
      .poll(failure, { timeout: 8_000 })
      .toMatchObject({ last_failure: { message: expect.stringContaining("No assistant found") } });
  });
});
