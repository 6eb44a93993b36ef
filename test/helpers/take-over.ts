import { expect } from "vitest";
import type { TestApp } from "./app.ts";

/**
 * Has the run taken over by whatever worker is free, while the first one lives: its lease is over, again and again,
 * since the first one may renew it.
 */
export async function takeOver({ database: { db } }: TestApp, runId: string): Promise<void> {
  const attempt = async () => {
    await db.query(
      `update heddle.runs set lease_until = clock_timestamp() - interval '1 second'
       where run_id = $1::uuid and attempt = 1`,
      [runId],
    );
    return db.query("select attempt from heddle.runs where run_id = $1::uuid", [runId]);
  };
  await expect.poll(attempt).toEqual([{ attempt: 2 }]);
}
