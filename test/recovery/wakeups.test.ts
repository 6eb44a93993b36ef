// Wake-ups between servers: over PostgreSQL and over Redis, and without either nothing is lost.
import { randomUUID } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPostgresChannel } from "../../src/events/postgres-channel.ts";
import { openRedisChannel } from "../../src/events/redis-channel.ts";
import { createWakeups, type OpenChannel } from "../../src/events/wakeups.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { findRedis } from "../helpers/redis.ts";

const log = pino({ level: "silent" });
const redis = await findRedis();
let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(async () => {
  await database.drop();
  await redis?.close();
});

function listen(open: OpenChannel) {
  const heard: string[] = [];
  const wakeups = createWakeups({
    open,
    log,
    listener: {
      queue: () => heard.push("queue"),
      cancel: (runId) => heard.push(`cancel ${runId}`),
      run: (runId) => heard.push(`run ${runId}`),
    },
  });
  return { heard, wakeups };
}

const channels: [string, () => OpenChannel][] = [
  ["PostgreSQL", () => openPostgresChannel({ url: database.url, db: database.db, log })],
];
if (redis) channels.push(["Redis", () => openRedisChannel({ url: redis.url, log })]);
else it.skip("over Redis is not tested: there is no redis-server, and no REDIS_URL", () => {});

describe.each(channels)("wake-ups over %s", (_, open) => {
  it("reach the other servers, each kind its place", async () => {
    const [a, b] = [listen(open()), listen(open())];
    const runId = randomUUID();
    // Until both listen, hints are lost: that is allowed.
    await expect
      .poll(() => {
        a.wakeups.send({ kind: "queue" });
        b.wakeups.send({ kind: "queue" });
        return Math.min(a.heard.length, b.heard.length);
      })
      .toBeGreaterThan(0);
    a.wakeups.send({ kind: "cancel", runId });
    await expect.poll(() => b.heard).toContain(`cancel ${runId}`);
    // News of a run are told to those who read it, and to nobody otherwise.
    b.wakeups.changed(runId);
    b.wakeups.send({ kind: "cancel", runId: randomUUID() });
    await expect.poll(() => a.heard.at(-1)).toMatch(/^cancel/);
    expect(a.heard).not.toContain(`run ${runId}`);
    a.wakeups.send({ kind: "follow", runId });
    await expect
      .poll(() => {
        b.wakeups.changed(runId);
        return a.heard;
      })
      .toContain(`run ${runId}`);
    await a.wakeups.close();
    await b.wakeups.close();
  });
});

describe("a hint that is no hint", () => {
  it("is passed over", () => {
    let hear: (text: string) => void = () => undefined;
    const { heard } = listen((onMessage) => {
      hear = onMessage;
      return { publish: async () => undefined, close: async () => undefined };
    });
    for (const text of ["", "queue:x y", "run:", "run:'; drop table", "cancel", "\0", "run run:1"])
      hear(text);
    expect(heard).toEqual(["queue"]);
  });
});

describe("a connection that listens and is lost", () => {
  it("is made again", async () => {
    const open = () => listen(openPostgresChannel({ url: database.url, db: database.db, log }));
    const [{ heard, wakeups }, other] = [open(), open()];
    const send = () => {
      other.wakeups.send({ kind: "queue" });
      return heard.length;
    };
    await expect.poll(send).toBeGreaterThan(0);
    await database.db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'heddle wake-ups' and datname = current_database()`,
    );
    heard.length = 0;
    await expect.poll(send).toBeGreaterThan(0);
    // What a server says itself, it knows.
    heard.length = 0;
    wakeups.send({ kind: "cancel", runId: randomUUID() });
    other.wakeups.send({ kind: "queue" });
    await expect.poll(() => heard).toContain("queue");
    expect(heard.filter((hint) => hint !== "queue")).toEqual([]);
    await wakeups.close();
    await other.wakeups.close();
  });
});

describe("a Redis that is not there", () => {
  let server: Server;
  const sockets = new Set<Socket>();
  beforeAll(async () => {
    // Takes connections and says nothing.
    server = createServer((socket) => void sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it("delays wake-ups and breaks nothing", async () => {
    const { port } = server.address() as { port: number };
    for (const url of [`redis://127.0.0.1:${port}`, "redis://127.0.0.1:1"]) {
      const { heard, wakeups } = listen(openRedisChannel({ url, log }));
      wakeups.send({ kind: "queue" });
      await wakeups.close();
      expect(heard).toEqual([]);
    }
  });
});
