// What is answered while the database is away, and after it.
import { expect, it } from "vitest";
import { startApp } from "../helpers/app.ts";
import { createTestDatabase } from "../helpers/database.ts";

it("is 503 while PostgreSQL takes no connections, and as ever when it does again", async () => {
  const heddle = await startApp({ env: { WORKERS: "0" } });
  const other = await createTestDatabase({ empty: true });
  try {
    const ok = () => fetch(`${heddle.url}/ok`);
    expect((await ok()).status).toBe(200);
    const name = new URL(heddle.database.url).pathname.slice(1);
    await other.db.query(`alter database ${name} allow_connections false`);
    await other.db.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [name]);
    const away = await ok();
    expect(away.status).toBe(503);
    expect(away.headers.get("retry-after")).toBe("1");
    expect(await away.text()).toMatch(/database does not answer/);
    // Not "no such assistant": the client is to come again.
    const run = await fetch(`${heddle.url}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ assistant_id: "script" }),
    });
    expect(run.status).toBe(503);
    await other.db.query(`alter database ${name} allow_connections true`);
    expect((await ok()).status).toBe(200);
  } finally {
    await heddle.close();
    await other.drop();
  }
});
