// The connection to PostgreSQL: one pool with time-outs and error handlers, queries and transactions. What lost against
// another transaction is sent again; a lost, unreachable or overloaded server becomes `database_unavailable`; every
// other error passes as PostgreSQL gave it.
import { hash } from "node:crypto";
import pRetry from "p-retry";
import pg from "pg";
import { AppError, isAppError } from "../errors.ts";
import { types } from "./bytea-array.ts";

export interface Queryable {
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Database extends Queryable {
  /** The official saver and its like take a pool of the pg package. */
  readonly pool: pg.Pool;
  /** Statements sent since the start, for the benchmark. */
  readonly statements: () => number;
  /**
   * Runs `work` in a transaction: committed when it returns, rolled back when it throws. It runs again when PostgreSQL
   * has rolled it back in favour of another one, so it must do nothing but talk to the database. `timeoutMs`: how long
   * an answer to each of its statements is waited for, when that may be longer than usual.
   */
  transaction<T>(work: (tx: Queryable) => Promise<T>, options?: { readonly timeoutMs: number }): Promise<T>;
  close(): Promise<void>;
}

interface DatabaseOptions {
  readonly url: string;
  /** Most connections; more queries wait in line. */
  readonly max?: number;
  readonly connectionTimeoutMs?: number;
  /** PostgreSQL ends a statement after this time. */
  readonly statementTimeoutMs?: number;
  readonly onError: (error: Error) => void;
}

/** Opens nothing by itself: the first query connects. */
export function createDatabase({
  url,
  max = 20,
  connectionTimeoutMs = 10_000,
  statementTimeoutMs = 10_000,
  onError,
}: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max,
    types,
    application_name: "heddle",
    connectionTimeoutMillis: connectionTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    statement_timeout: statementTimeoutMs,
    // For a server that says nothing any more: it would have ended the statement before.
    query_timeout: statementTimeoutMs + 2_000,
    lock_timeout: 5_000,
    idle_in_transaction_session_timeout: 30_000,
  });
  // Without this handler a connection that breaks while idle ends the process.
  pool.on("error", onError);
  // Nor does the pool listen while a client is in use: one that breaks between two statements of a transaction would do
  // the same. The next statement says what is wrong, and the pool takes no broken client back.
  pool.on("connect", (client) => client.on("error", () => undefined));

  let count = 0;
  let prepare = true;
  const names = new Map<string, string>();
  const nameOf = (text: string) => {
    const known = names.get(text);
    if (known !== undefined) return known;
    const name = hash("sha256", text, "base64");
    names.set(text, name);
    return name;
  };
  /**
   * A statement with values is parsed and planned once per connection. Its name follows from its text: behind a pooler
   * that hands one connection to several clients, whoever finds the name finds the same statement.
   * For texts that are written in the source; values never become part of one.
   */
  const toStatement = (text: string, values: readonly unknown[], timeoutMs?: number) => ({
    text,
    values: [...values],
    ...(prepare && values.length > 0 ? { name: nameOf(text) } : {}),
    ...(timeoutMs === undefined ? {} : { query_timeout: timeoutMs }),
  });
  const on = (client: pg.Pool | pg.PoolClient, timeoutMs?: number): Queryable => ({
    async query<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
      count++;
      try {
        const result = await client.query<Row>(toStatement(text, values, timeoutMs));
        return result.rows;
      } catch (error) {
        if (isNotPrepared(error)) prepare = false;
        throw toDatabaseError(error);
      }
    },
  });

  const transact = async <T>(work: (tx: Queryable) => Promise<T>, timeoutMs?: number): Promise<T> => {
    const client = await pool.connect().catch((error: unknown) => {
      throw toDatabaseError(error);
    });
    const tx = on(client, timeoutMs);
    let broken: Error | boolean = false;
    try {
      await tx.query("begin");
      const result = await work(tx);
      await tx.query("commit");
      return result;
    } catch (error) {
      // A server that shuts down or has become a replica is not to be asked again over this connection.
      broken = isAppError(error, "database_unavailable");
      // The first error is the cause; a rollback that fails only means that the connection is gone.
      await client.query("rollback").catch((rollbackError: Error) => {
        broken = rollbackError;
      });
      throw error;
    } finally {
      client.release(broken);
    }
  };

  const outside = on(pool);
  return {
    query: (text, values) => again(() => outside.query(text, values)),
    pool,
    statements: () => count,
    transaction: (work, options) => again(() => transact(work, options?.timeoutMs)),
    close: () => pool.end(),
  };
}

/** Serialization failure, deadlock: nothing was done, and the same may succeed now. */
const LOST_TO_ANOTHER = new Set(["40001", "40P01"]);

const again = <T>(attempt: () => Promise<T>) =>
  pRetry(attempt, {
    retries: 5,
    minTimeout: 10,
    randomize: true,
    shouldRetry: ({ error }) =>
      ("code" in error && LOST_TO_ANOTHER.has(String(error.code))) || isNotPrepared(error),
  });

/**
 * The connection does not have the statement that we prepared, or has it already: a pooler in transaction mode gave us
 * another client's. Or a migration has changed what it returns. Nothing was done; from now on nothing is prepared.
 */
const isNotPrepared = (error: unknown) =>
  error instanceof pg.DatabaseError &&
  (error.code === "26000" || error.code === "42P05" || error.routine === "RevalidateCachedQuery");

const CONNECTION_LOST = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
]);
// Connection errors, shutdown, crash, start; too many connections; a server that became a replica; a statement or a
// lock that took too long.
const SERVER_AWAY = /^(08...|57P0[123]|53300|25006|57014|55P03)$/;

/** Whether what a query has thrown means that somebody else has held a row for too long, or that a trigger says so. */
export const isLockNotAvailable = (error: unknown): boolean =>
  isAppError(error, "database_unavailable") &&
  error.cause instanceof pg.DatabaseError &&
  error.cause.code === "55P03";

/** PostgreSQL's program_limit_exceeded: of a JSON value, an indexed text. */
const TOO_LARGE = "54000";

/** Tells "the database is away" and "too large" from "the statement is wrong"; returns what to throw. */
function toDatabaseError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
  if (code === TOO_LARGE) {
    const message = `It is larger than PostgreSQL can store: ${error.message}.`;
    return new AppError("payload_too_large", message, { cause: error });
  }
  const away =
    // What ends or refuses a connection is not about the statement.
    (error instanceof pg.DatabaseError && error.severity === "FATAL") ||
    (code !== undefined && (CONNECTION_LOST.has(code) || SERVER_AWAY.test(code))) ||
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout/.test(
      error.message,
    );
  return away
    ? new AppError("database_unavailable", "The database does not answer. Try again in a moment.", {
        cause: error,
      })
    : error;
}
