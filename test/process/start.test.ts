// Starting the server as a process: what it prints when it works, and how it ends when it cannot.
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { type HeddleProcess, startProcess } from "../helpers/process.ts";

const GRAPHS = path.resolve(import.meta.dirname, "../fixtures/graphs/langgraph.json");
let database: TestDatabase;
let folder: string;
const running: HeddleProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(path.join(tmpdir(), "heddle-start-"));
});
afterEach(async () => {
  for (const heddle of running.splice(0)) await heddle.stop("SIGKILL");
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

function start(env: Record<string, string> = {}, args = ["--config", GRAPHS]): HeddleProcess {
  const heddle = startProcess({
    env: { DATA_DIR: path.join(folder, "data"), DATABASE_URL: database.url, ...env },
    args,
  });
  running.push(heddle);
  return heddle;
}

/** The lines of a start that fails, and that it ended with code 1 and without a stack. */
async function failure(heddle: HeddleProcess): Promise<string> {
  expect(await heddle.ended()).toEqual({ code: 1, signal: null });
  expect(heddle.output()).toMatch(/^Heddle cannot start\.\n/);
  expect(heddle.output()).toMatch(/\n {2}Next: .+\n$/);
  expect(heddle.output()).not.toMatch(/\n\s+at |node:internal/);
  return heddle.output();
}

function write(name: string, content: string): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

describe("a start that works", () => {
  it("says where it listens, on what it runs, and what to try; and it is so", async () => {
    const heddle = start();
    const url = await heddle.listening();
    const lines = heddle.output();
    expect(lines).toMatch(/graphs +echo, script/);
    expect(lines).toMatch(/auth +none\n/);
    expect(lines).toMatch(/database +postgres/);
    expect(lines).toMatch(/model +demo/);
    expect(lines).toMatch(/sandbox +(bubblewrap|virtual)/);
    expect(lines).toContain(path.join(folder, "data"));
    expect(lines.slice(lines.indexOf("Try:")).match(/http:\/\//g)).toHaveLength(3);
    expect((await fetch(`${url}/ok`)).status).toBe(200);
    heddle.child.kill("SIGTERM");
    expect(await heddle.ended()).toEqual({ code: 0, signal: null });
  });

  it("goes on when a graph forgets a promise that is rejected, and when nobody reads its output any more", async () => {
    const file = path.resolve(import.meta.dirname, "../fixtures/graphs/careless.ts");
    const config = write(
      "careless/langgraph.json",
      JSON.stringify({ graphs: { careless: `${file}:graph` } }),
    );
    const heddle = start({ LOG_LEVEL: "info" }, ["--config", config]);
    const url = await heddle.listening();
    heddle.child.stdout?.destroy();
    heddle.child.stderr?.destroy();
    for (let turn = 0; turn < 3; turn++) {
      const response = await fetch(`${url}/runs/wait`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"assistant_id":"careless","input":{"messages":[]}}',
      });
      expect(await response.json()).toEqual({ messages: [] });
    }
    heddle.child.kill("SIGTERM");
    expect(await heddle.ended()).toEqual({ code: 0, signal: null });
  });

  it("warns of an env file that is not there, and goes on without it", async () => {
    const graph = path.resolve(import.meta.dirname, "../fixtures/graphs/echo.ts:graph");
    const project = write("no-env/langgraph.json", JSON.stringify({ graphs: { echo: graph }, env: ".env" }));
    const heddle = start({ LOG_LEVEL: "warn" }, ["--config", project]);
    await heddle.listening();
    expect(heddle.output()).toContain(path.join(folder, "no-env/.env"));
    expect(heddle.output()).toContain("going on without it");
  });

  it("begins without a word about its own langgraph.json's .env, which a fresh clone does not have", async () => {
    const heddle = start({ LOG_LEVEL: "warn" }, ["--config", path.resolve("langgraph.json")]);
    await heddle.listening();
    expect(heddle.output()).not.toContain("going on without it");
  });

  it("warns when others may reach it and there is no auth, and names the owners of keys but no key", async () => {
    const open = start({ HOST: "0.0.0.0" });
    await open.listening();
    expect(open.output()).toMatch(/WARNING: whoever can reach 0\.0\.0\.0 may do everything; set API_KEYS/);
    const closed = start({ HOST: "0.0.0.0", API_KEYS: "ann:hunter2-hunter2", LOG_LEVEL: "trace" });
    const url = (await closed.listening()).replace("0.0.0.0", "127.0.0.1");
    await fetch(`${url}/models`, { headers: { "x-api-key": "hunter2-hunter2" } });
    expect(closed.output()).toMatch(/auth +API_KEYS of ann\n/);
    expect(closed.output()).toMatch(/curl -N .* -H 'x-api-key: …'/);
    expect(closed.output()).not.toMatch(/WARNING: whoever|hunter2/);
  });

  it("shows no request to try where only the project's rules know how to make one", async () => {
    const rules = path.resolve(import.meta.dirname, "../fixtures/auth/langgraph.json");
    const heddle = start({}, ["--config", rules]);
    await heddle.listening();
    expect(heddle.output()).toMatch(/auth +\.\/auth\.ts:auth\n/);
    expect(heddle.output()).toMatch(/Try:\n +curl \S+\/info\n +https:/);
  });

  it("never prints the database's password", async () => {
    const url = new URL(database.url);
    url.password ||= "hunter2";
    const heddle = start({ DATABASE_URL: url.href });
    await heddle.listening();
    expect(heddle.output()).not.toContain(decodeURIComponent(url.password));
  });
});

describe("a start that fails", () => {
  it("because the port is taken", async () => {
    const other: Server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { port: number };
    const text = await failure(start({ PORT: String(port) }));
    expect(text).toContain(`Port ${port} on 127.0.0.1 is taken`);
    expect(text).toContain(`PORT=${port + 1} npm start`);
    other.close();
  });

  it.each([
    ["PORT", "eighty", /PORT is "eighty", but must be an integer from 0 to 65535/],
    ["SANDBOX", "docker", /SANDBOX is "docker", but must be auto, bubblewrap, virtual, local/],
    ["DATABASE_URL", "mysql://root:secret@x/y", /DATABASE_URL .*must be postgres:/],
    ["DATABASE_URL", "postgres://root:secret@:x:/", /DATABASE_URL .*must be postgres:/],
    ["LOG_LEVEL", "loud", /LOG_LEVEL is "loud", but must be trace/],
  ])("because %s is wrong", async (name, value, expected) => {
    const text = await failure(start({ [name]: value }));
    expect(text).toMatch(expected);
    expect(text).not.toContain("secret");
  });

  it("because there is no langgraph.json", async () => {
    const file = path.join(folder, "none.json");
    const text = await failure(start({}, ["--config", file]));
    expect(text).toContain("There is no such file");
    expect(text).toContain(`File: ${file}`);
  });

  it("because langgraph.json is not JSON, or names nothing", async () => {
    expect(await failure(start({}, ["--config", write("a/langgraph.json", "{")]))).toContain(
      "It is not JSON",
    );
    expect(await failure(start({}, ["--config", write("b/langgraph.json", "{}")]))).toContain("graphs");
    expect(await failure(start({}, ["--config", write("c/langgraph.json", '{"graphs":{}}')]))).toContain(
      "names no graph",
    );
  });

  it("because a graph's file is missing", async () => {
    const file = write("d/langgraph.json", '{"graphs":{"mine":"./gone.ts:graph"}}');
    const text = await failure(start({}, ["--config", file]));
    expect(text).toContain(`Graph "mine": there is no file ${path.join(folder, "d/gone.ts")}`);
    expect(text).toContain(`File: ${file}`);
  });

  it("because a graph's export is missing, is no graph, or its file fails", async () => {
    const config = (reference: string) =>
      write("e/langgraph.json", JSON.stringify({ graphs: { mine: reference } }));
    write("e/a.ts", "export const other = 1;");
    write("e/b.ts", "throw new Error('no luck today');");
    const missing = await failure(start({}, ["--config", config("./a.ts:graph")]));
    expect(missing).toContain('has no export "graph"; the file exports other');
    expect(await failure(start({}, ["--config", config("./a.ts:other")]))).toContain(
      'the export "other" is not a graph',
    );
    const broken = await failure(start({}, ["--config", config("./b.ts:graph")]));
    expect(broken).toContain("no luck today");
    expect(broken).toContain(path.join(folder, "e/b.ts"));
  });

  it("because the database does not answer", async () => {
    const text = await failure(start({ DATABASE_URL: "postgresql://user:hunter2@127.0.0.1:1/none" }));
    expect(text).toContain("PostgreSQL does not answer at postgresql://user@127.0.0.1:1/none");
    expect(text).not.toContain("hunter2");
  });

  it("because the database swallows the connection", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await new Promise((resolve) => silent.once("listening", resolve));
    const { port } = silent.address() as { port: number };
    expect(await failure(start({ DATABASE_URL: `postgresql://u@127.0.0.1:${port}/d` }))).toContain(
      "does not answer",
    );
    silent.close();
  });

  it("because the database does not exist", async () => {
    const url = new URL(database.url);
    url.pathname = "/no_such_database";
    expect(await failure(start({ DATABASE_URL: url.href }))).toContain("no_such_database");
  });

  it("because the data directory is a file", async () => {
    const file = write("occupied", "");
    const text = await failure(start({ DATA_DIR: file }));
    expect(text).toContain("The data directory cannot be written");
    expect(text).toContain(`File: ${file}`);
  });

  it.skipIf(process.getuid?.() === 0)("because the data directory may not be written", async () => {
    const closed = path.join(folder, "closed");
    mkdirSync(closed, { mode: 0o500 });
    expect(await failure(start({ DATA_DIR: closed }))).toContain("The data directory cannot be written");
    chmodSync(closed, 0o700);
  });

  it("because a newer Heddle has used the database", async () => {
    const other = await createTestDatabase();
    await other.db.query("insert into heddle.migrations (number, name) values (9999, 'future')");
    expect(await failure(start({ DATABASE_URL: other.url }))).toContain("The database has schema 9999");
    await other.drop();
  });

  it("because config.yaml is missing, is not YAML, or has a wrong value", async () => {
    const yaml = (content: string) => start({ CONFIG_FILE: write("config.yaml", content) });
    expect(await failure(start({ CONFIG_FILE: path.join(folder, "none.yaml") }))).toContain(
      "names a file that is not there",
    );
    expect(await failure(yaml("title: [")).then((text) => text)).toContain("It is not YAML");
    const wrong = await failure(yaml("title:\n  max_words: many\n"));
    expect(wrong).toContain("title.max_words");
    expect(wrong).toContain(path.join(folder, "config.yaml"));
    expect(await failure(yaml("titel: {}\n"))).toContain("titel");
  });

  it("because an argument is unknown", async () => {
    expect(await failure(start({}, ["--confg", "x"]))).toContain("--confg");
  });
});

// The embedded PostgreSQL is the subject here, whatever the other tests run on.
describe("the embedded PostgreSQL", () => {
  const dataDir = () => path.join(folder, "embedded");
  const embedded = () => start({ DATABASE_URL: "", DATA_DIR: dataDir() });
  const postmaster = () => {
    const text = execFileSync("head", ["-1", path.join(dataDir(), "postgres/postmaster.pid")], {
      encoding: "utf8",
    });
    return Number(text);
  };
  const isAlive = (pid: number) => {
    try {
      // A zombie that nobody has reaped yet is not alive.
      return !/^State:\s+Z/m.test(
        execFileSync("cat", [`/proc/${pid}/status`], { encoding: "utf8", stdio: "pipe" }),
      );
    } catch {
      return false;
    }
  };
  const newThread = async (url: string) => {
    const response = await fetch(`${url}/threads`, { method: "POST" });
    return ((await response.json()) as { thread_id: string }).thread_id;
  };

  it("is made at the first start, and stopped with the server", async () => {
    const heddle = embedded();
    await heddle.listening();
    expect(heddle.output()).toMatch(/database +embedded PostgreSQL\n/);
    const pid = postmaster();
    expect(isAlive(pid)).toBe(true);
    await heddle.stop();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("that was left behind by a killed server is adopted, with all it holds", async () => {
    const killed = embedded();
    const threadId = await newThread(await killed.listening());
    const pid = postmaster();
    await killed.stop("SIGKILL");
    expect(isAlive(pid)).toBe(true);

    const next = embedded();
    const url = await next.listening();
    expect(next.output()).toMatch(/adopted/);
    expect(postmaster()).toBe(pid);
    expect((await fetch(`${url}/threads/${threadId}`)).status).toBe(200);
    await next.stop();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("starts again when its pid file is stale and names another program", async () => {
    const heddle = embedded();
    await heddle.listening();
    const copy = path.join(folder, "postmaster.pid");
    cpSync(path.join(dataDir(), "postgres/postmaster.pid"), copy);
    await heddle.stop();
    const stale = execFileSync("cat", [copy], { encoding: "utf8" }).replace(/^\d+/, String(process.pid));
    writeFileSync(path.join(dataDir(), "postgres/postmaster.pid"), stale);
    await embedded().listening();
  });

  it("refuses a second server on the same data, and names the first", async () => {
    const first = embedded();
    const url = await first.listening();
    const text = await failure(embedded());
    expect(text).toContain(`Another Heddle (pid ${first.child.pid}) uses this data directory`);
    expect((await fetch(`${url}/ok`)).status).toBe(200);
  });

  it("is started again when it dies, and the server goes on", async () => {
    const heddle = embedded();
    const url = await heddle.listening();
    const threadId = await newThread(url);
    process.kill(postmaster(), "SIGQUIT");
    await expect
      .poll(async () => (await fetch(`${url}/threads/${threadId}`)).status, { timeout: 20_000 })
      .toBe(200);
    expect(heddle.child.exitCode).toBeNull();
  });
});

it("twenty processes that start at once on an empty database all come up", async () => {
  const empty = await createTestDatabase({ empty: true });
  const script = `
    import { createDatabase } from ${JSON.stringify(path.resolve("src/db/database.ts"))};
    import { migrate } from ${JSON.stringify(path.resolve("src/db/migrate.ts"))};
    const db = createDatabase({ url: process.env.URL, max: 1, onError() {} });
    console.log(JSON.stringify(await migrate(db)));
    await db.close();`;
  const file = write("migrate.ts", script);
  const { spawn } = await import("node:child_process");
  const results = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", file], {
        env: { ...process.env, URL: empty.url },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let text = "";
      child.stdout.on("data", (chunk) => {
        text += chunk;
      });
      child.stderr.on("data", (chunk) => {
        text += chunk;
      });
      await new Promise((resolve) => child.once("close", resolve));
      return text.trim();
    }),
  );
  const [first, ...others] = results.sort((a, b) => b.length - a.length);
  expect(first).toMatch(/^\["0001_initial"/);
  expect(others).toEqual(Array.from({ length: 19 }, () => "[]"));
  await empty.drop();
  expect(inject("databaseUrl")).toBeTruthy();
}, 120_000);
