// The connection to PostgreSQL: one pool with time-outs and error handlers, queries and transactions. A lost or
// unreachable server becomes `database_unavailable`; every other error passes as PostgreSQL gave it.
import pg from "pg";
import { AppError } from "../errors.ts";

export interface Queryable {
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Database extends Queryable {
  /** The official saver and its like take a pool of the pg package. */
  readonly pool: pg.Pool;
  /** Statements sent since the start, for the benchmark. */
  readonly statements: () => number;
  /** Runs `work` in a transaction: committed when it returns, rolled back when it throws. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

interface DatabaseOptions {
  readonly url: string;
  /** Most connections; more queries wait in line. */
  readonly max?: number;
  readonly connectionTimeoutMs?: number;
  readonly onError: (error: Error) => void;
}

/** Opens nothing by itself: the first query connects. */
export function createDatabase({
  url,
  max = 20,
  connectionTimeoutMs = 5_000,
  onError,
}: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    application_name: "heddle",
    connectionTimeoutMillis: connectionTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    statement_timeout: 30_000,
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: 30_000,
  });
  // Without this handler a connection that breaks while idle ends the process.
  pool.on("error", onError);
  // Nor does the pool listen while a client is in use: one that breaks between two statements of a transaction would do
  // the same. The next statement says what is wrong, and the pool takes no broken client back.
  pool.on("connect", (client) => client.on("error", () => undefined));

  let count = 0;
  const on = (client: pg.Pool | pg.PoolClient): Queryable => ({
    async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
      count++;
      try {
        const result = await client.query<Row>(text, [...values]);
        return result.rows;
      } catch (error) {
        throw toDatabaseError(error);
      }
    },
  });

  return {
    ...on(pool),
    pool,
    statements: () => count,
    async transaction(work) {
      const client = await pool.connect().catch((error: unknown) => {
        throw toDatabaseError(error);
      });
      const tx = on(client);
      let broken: Error | undefined;
      try {
        await tx.query("begin");
        const result = await work(tx);
        await tx.query("commit");
        return result;
      } catch (error) {
        // The first error is the cause; a rollback that fails only means that the connection is gone.
        await client.query("rollback").catch((rollbackError: Error) => {
          broken = rollbackError;
        });
        throw error;
      } finally {
        client.release(broken);
      }
    },
    close: () => pool.end(),
  };
}

const CONNECTION_LOST = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
]);
const SERVER_GONE = /^(08...|57P0[123]|53300)$/;

/** Tells "the database is away" from "the statement is wrong"; returns what to throw. */
function toDatabaseError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  const away =
    (code !== undefined && (CONNECTION_LOST.has(code) || SERVER_GONE.test(code))) ||
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
      error.message,
    );
  return away
    ? new AppError("database_unavailable", "The database does not answer. Try again in a moment.", {
        cause: error,
      })
    : error;
}
