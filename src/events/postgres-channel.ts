// Wake-ups over PostgreSQL: LISTEN on a connection of its own, NOTIFY over the pool. A pooler in transaction mode lets
// no notification through: the servers then go on polling.
import pRetry, { AbortError } from "p-retry";
import pg from "pg";
import type { Logger } from "pino";
import type { Queryable } from "../db/database.ts";
import type { OpenChannel } from "./wakeups.ts";

const CHANNEL = "heddle_wakeup";
/** How often the connection is tried: a server that has vanished is not noticed otherwise. */
const CHECK_MS = 10_000;
const ANSWER_MS = 5_000;

export const openPostgresChannel =
  ({ url, db, log }: { url: string; db: Queryable; log: Logger }): OpenChannel =>
  (onMessage) => {
    const closing = new AbortController();
    let client: pg.Client | undefined;

    const connect = async () => {
      if (closing.signal.aborted) throw new AbortError("closed");
      const next = new pg.Client({
        connectionString: url,
        application_name: "heddle wake-ups",
        connectionTimeoutMillis: ANSWER_MS,
        query_timeout: ANSWER_MS,
        keepAlive: true,
      });
      const lost = Promise.withResolvers<Error>();
      next.on("error", lost.resolve);
      next.on("end", () => lost.resolve(new Error("the connection has ended")));
      next.on("notification", ({ payload = "" }) => onMessage(payload));
      try {
        await next.connect();
        await next.query(`listen ${CHANNEL}`);
      } catch (error) {
        await next.end().catch(() => undefined);
        throw error;
      }
      client = next;
      return { client: next, lost: lost.promise };
    };

    const listen = async () => {
      while (!closing.signal.aborted) {
        const connection = await pRetry(connect, {
          retries: Number.POSITIVE_INFINITY,
          minTimeout: 100,
          maxTimeout: 5_000,
          randomize: true,
          signal: closing.signal,
        });
        const check = setInterval(() => {
          connection.client
            .query("select 1")
            .catch(() => void connection.client.end().catch(() => undefined));
        }, CHECK_MS);
        const error = await connection.lost;
        clearInterval(check);
        if (!closing.signal.aborted)
          log.warn(error, "wake-ups wait for the next poll until PostgreSQL is back");
      }
    };
    const listening = listen().catch((error: unknown) => {
      if (!closing.signal.aborted) log.error(error, "wake-ups have stopped");
    });

    return {
      publish: async (text) => void (await db.query("select pg_notify($1::text, $2::text)", [CHANNEL, text])),
      async close() {
        closing.abort();
        await client?.end().catch(() => undefined);
        await listening;
      },
    };
  };
