// Firings that die in the middle, and that race: on a database of their own, without a server that fires by itself.
import { pino } from "pino";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Assistants } from "../../src/assistants/assistants.ts";
import { insertCron, selectCron } from "../../src/crons/crons.sql.ts";
import { type FireOptions, fireNext } from "../../src/crons/fire.ts";
import { AppError } from "../../src/errors.ts";
import { createRunIn } from "../../src/runs/create-run.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

const ASSISTANT = "11111111-0000-4000-8000-000000000001";
const CRON = "22222222-0000-4000-8000-000000000001";
const DUE = new Date("2026-01-01T00:00:00Z");

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.db.query(
    "insert into heddle.assistants (assistant_id, graph_id, name) values ($1::uuid, 'echo', 'echo')",
    [ASSISTANT],
  );
});

afterAll(() => database.drop());

beforeEach(async () => {
  const { db } = database;
  await db.query("delete from heddle.crons");
  await db.query("delete from heddle.threads");
  await insertCron(db, {
    cron_id: CRON,
    assistant_id: ASSISTANT,
    thread_id: null,
    on_run_completed: "delete",
    end_time: null,
    schedule: "0 0 1 1 *",
    timezone: null,
    payload: { assistant_id: ASSISTANT },
    next_run_date: DUE,
    metadata: {},
    enabled: true,
    owner: { identity: "ada", permissions: ["run"], user: { identity: "ada", room: 7 } },
    threadScope: undefined,
    assistantScope: undefined,
  });
});

const assistants = {
  get: async (id: string) => ({ assistant_id: id, graph_id: "echo", config: {}, context: {}, metadata: {} }),
} as unknown as Assistants;

const options = (createIn?: FireOptions["runs"]["createIn"]): FireOptions => ({
  db: database.db,
  runs: {
    createIn: createIn ?? ((tx, request) => createRunIn(tx, { assistants, ttl: undefined }, request)),
    announce: () => undefined,
  },
  toRequest: (_body, threadId) => ({
    threadId,
    assistantId: ASSISTANT,
    input: null,
    streamMode: ["values"],
    streamSubgraphs: false,
    multitaskStrategy: "reject",
    ifNotExists: "reject",
    onCompletion: "keep",
    afterSeconds: 0,
    headers: {},
  }),
  log: pino({ level: "silent" }),
});

const cron = async () => (await selectCron(database.db, CRON, undefined))[0];
const runs = () =>
  database.db.query<{ metadata: object; kwargs: { temporary: boolean; config: { configurable: object } } }>(
    "select metadata, kwargs from heddle.runs",
  );

describe("a firing", () => {
  it("makes a run that knows its cron, and who made that", async () => {
    expect(await fireNext(options())).toBe(true);
    expect(await fireNext(options())).toBe(false);
    const [run, ...others] = await runs();
    expect(others).toEqual([]);
    expect(run).toMatchObject({
      metadata: { cron_id: CRON },
      kwargs: {
        temporary: true,
        config: {
          configurable: {
            user_id: "ada",
            langgraph_auth_user_id: "ada",
            langgraph_auth_user: { identity: "ada", room: 7 },
            langgraph_auth_permissions: ["run"],
          },
        },
      },
    });
  });

  it("that dies after it has made the run has done nothing, and the next one takes its place", async () => {
    const lost = new AppError("database_unavailable", "The connection is gone.");
    const dying = options(async (tx, request) => {
      await createRunIn(tx, { assistants, ttl: undefined }, request);
      throw lost;
    });
    await expect(fireNext(dying)).rejects.toBe(lost);
    expect(await runs()).toEqual([]);
    expect(await cron()).toMatchObject({ next_run_date: DUE, last_failure: null });

    expect(await fireNext(options())).toBe(true);
    expect(await runs()).toHaveLength(1);
  });

  it("that PostgreSQL ends in favour of another transaction is tried again, and makes one run", async () => {
    let tries = 0;
    const losing = options(async (tx, request) => {
      const created = await createRunIn(tx, { assistants, ttl: undefined }, request);
      if (++tries === 1) throw Object.assign(new Error("deadlock detected"), { code: "40P01" });
      return created;
    });
    expect(await fireNext(losing)).toBe(true);
    expect(tries).toBe(2);
    expect(await runs()).toHaveLength(1);
    expect(await cron()).toMatchObject({ last_failure: null });
  });

  it("that fails half-way through leaves nothing but a note, and comes again when it is due", async () => {
    const failing = options(async (tx, request) => {
      await createRunIn(tx, { assistants, ttl: undefined }, request);
      // Fails in the database, so that nothing more can be done in the transaction as it is.
      await tx.query("select 1 / 0");
      throw new Error("not reached");
    });
    expect(await fireNext(failing)).toBe(true);
    expect(await runs()).toEqual([]);
    expect(await database.db.query("select 1 from heddle.threads")).toEqual([]);
    const noted = await cron();
    expect(noted?.next_run_date?.getTime()).toBeGreaterThan(Date.now());
    expect(noted?.last_failure?.message).toBe("The run could not be made; the server's log says why.");
  });

  it("is passed over by others while it lasts", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const slow = fireNext(
      options(async (tx, request) => {
        begin();
        await held;
        return createRunIn(tx, { assistants, ttl: undefined }, request);
      }),
    );
    await begun;
    expect(await fireNext(options())).toBe(false);
    release();
    expect(await slow).toBe(true);
    expect(await runs()).toHaveLength(1);
  });

  it("and the deletion of its thread do not stop each other for good", async () => {
    const { db } = database;
    const thread = "33333333-0000-4000-8000-000000000001";
    await db.query("insert into heddle.threads (thread_id) values ($1::uuid)", [thread]);
    await db.query("update heddle.crons set thread_id = $1::uuid, on_run_completed = null", [thread]);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const firing = fireNext(
      options(async (tx, request) => {
        begin();
        await held;
        return createRunIn(tx, { assistants, ttl: undefined }, request);
      }),
    );
    await begun;
    // Holds the thread, and waits for the cron.
    const deletion = db.transaction(async (tx) => {
      await tx.query("select 1 from heddle.threads where thread_id = $1::uuid for update", [thread]);
      release();
      await tx.query("delete from heddle.threads where thread_id = $1::uuid", [thread]);
    });
    await Promise.all([firing, deletion]);
    expect(await db.query("select 1 from heddle.threads")).toEqual([]);
    expect(await cron()).toBeUndefined();
    expect(await runs()).toEqual([]);
  });
});
