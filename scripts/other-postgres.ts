// Prints the address of a PostgreSQL beside the embedded one that tests may use: TEST_DATABASE_URL, or one that answers
// on 127.0.0.1:5432 without a password and lets databases be made. Prints nothing when there is none.
import { createDatabase } from "../src/db/database.ts";

const asked = process.env.TEST_DATABASE_URL || undefined;
const users = ["postgres", process.env.USER ?? "root"];
const candidates = asked ? [asked] : users.map((user) => `postgresql://${user}@127.0.0.1:5432/postgres`);

for (const url of candidates) {
  const db = createDatabase({ url, max: 1, connectionTimeoutMs: 2_000, onError: () => undefined });
  try {
    const [row] = await db.query<{ usable: boolean }>(
      "select rolcreatedb or rolsuper as usable from pg_roles where rolname = current_user",
    );
    if (row?.usable) {
      process.stdout.write(url);
      break;
    }
  } catch (error) {
    // One that was asked for must be there: no silent pass.
    if (asked) throw error;
  } finally {
    await db.close();
  }
}
