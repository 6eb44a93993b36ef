// Delivers webhooks: takes those that are due from the outbox, sends them, and tries again later what was not taken.
// Each is sent at least once: one whose answer was lost is sent again, with the same id. Runs never wait for it.
import type { Logger } from "pino";
import type { Queryable } from "../db/database.ts";
import { isAppError } from "../errors.ts";
import { toMessage } from "./message.ts";
import { type Posted, post } from "./post.ts";
import { type Allowed, toTarget } from "./target.ts";
import {
  type ClaimedWebhook,
  claimWebhook,
  deleteOldWebhooks,
  deleteWebhook,
  postponeWebhook,
  releaseWebhook,
} from "./webhooks.sql.ts";

const POLL_MS = 500;
/** At once, of this process. */
const MAX_SENDING = 32;
/** At once to one host: one that is slow does not take all. */
const MAX_SENDING_TO_HOST = 4;
const TIMEOUT_MS = 10_000;
/** Longer than any attempt. */
const LEASE_SECONDS = 60;
const MAX_ATTEMPTS = 16;
const MAX_SECONDS = 86_400;
const KEEP_DAYS = 30;
/** The receiver wants no more of it (Standard Webhooks). All else may have changed when it is tried again. */
const GONE = 410;

interface DeliveryOptions {
  readonly db: Queryable;
  readonly log: Logger;
  readonly allowed: Allowed;
  readonly secret: string | undefined;
  /** The state at the run's end; undefined when it is gone. */
  readonly readValues: (run: { run_id: string; thread_id: string }) => Promise<unknown>;
  /**
   * Posts to a path of this server, as `user`, who has asked for the run (undefined: nobody knows), and gives the status;
   * undefined: this server answers no requests.
   */
  readonly postHere: ((path: string, message: Posted, user: unknown) => Promise<number>) | undefined;
}

export interface Deliveries {
  /** Takes no more, waits `graceMs` for what is being sent, leaves the rest to other servers. */
  close(graceMs: number): Promise<void>;
}

export function startDelivering(options: DeliveryOptions): Deliveries {
  const { db, log, postHere } = options;
  const sending = new Map<ClaimedWebhook, Promise<void>>();
  const stop = new AbortController();
  let closing = false;
  let awake = false;
  let notify: () => void = () => undefined;
  const wake = () => {
    awake = true;
    notify();
  };

  const busyHosts = () => {
    const hosts = [...sending.keys()].map(({ host }) => host);
    return [...new Set(hosts)].filter(
      (host) => hosts.filter((other) => other === host).length >= MAX_SENDING_TO_HOST,
    );
  };

  const claim = async (): Promise<boolean> => {
    if (closing || sending.size >= MAX_SENDING) return false;
    const webhook = await claimWebhook(db, {
      leaseSeconds: LEASE_SECONDS,
      busyHosts: busyHosts(),
      paths: postHere !== undefined,
    });
    if (!webhook) return false;
    const sent = deliver(options, webhook, stop.signal)
      // The database is away: the lease runs out, and it is sent again.
      .catch((error: unknown) => log.error(error, "what became of a webhook could not be noted"))
      .finally(() => {
        sending.delete(webhook);
        wake();
      });
    sending.set(webhook, sent);
    return true;
  };

  const sleep = async () => {
    if (awake) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, POLL_MS);
    notify = resolve;
    await promise;
    clearTimeout(timer);
  };

  const work = async () => {
    while (!closing) {
      awake = false;
      try {
        while (await claim());
      } catch (error) {
        log.error(error, "webhooks cannot be claimed");
      }
      if (!closing) await sleep();
    }
  };
  const loop = work();

  return {
    async close(graceMs) {
      closing = true;
      wake();
      await loop;
      const timer = setTimeout(() => stop.abort(), graceMs);
      await Promise.all(sending.values());
      clearTimeout(timer);
    },
  };
}

async function deliver(
  { db, log, allowed, secret, readValues, postHere }: DeliveryOptions,
  webhook: ClaimedWebhook,
  stopped: AbortSignal,
): Promise<void> {
  const { run_id, host, attempts } = webhook;
  const { kwargs } = webhook.run;
  let maxAttempts = MAX_ATTEMPTS;
  const readState = (run: ClaimedWebhook) =>
    readValues(run).catch((error: unknown) => {
      if (isAppError(error, "database_unavailable")) throw error;
      // The thread is deleted, or its graph cannot be loaded: what is left to tell is told.
      log.debug({ run_id, err: error }, "webhook is sent without values");
    });
  try {
    const values = kwargs.temporary ? undefined : await readState(webhook);
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(TIMEOUT_MS)]);
    const message = { ...toMessage(webhook, values, secret), signal };
    const target = toTarget(webhook.target, allowed);
    const status =
      "url" in target
        ? await post(target.url, message, allowed)
        : await postHere?.(target.path, message, kwargs.config?.configurable?.langgraph_auth_user);
    if (status === GONE) maxAttempts = attempts;
    if (status === undefined || status < 200 || status > 299) {
      throw new Error(`The receiver answered ${status}.`);
    }
    await deleteWebhook(db, run_id);
    log.debug({ run_id, host, attempts }, "webhook delivered");
  } catch (error) {
    if (stopped.aborted) {
      await releaseWebhook(db, webhook);
      return;
    }
    const [next] = await postponeWebhook(db, webhook, {
      error: toText(error),
      maxAttempts,
      maxSeconds: MAX_SECONDS,
    });
    if (!next) return;
    if (next.due_at !== null) log.warn({ run_id, host, attempts, err: error }, "webhook not delivered");
    else {
      log.error({ run_id, host, attempts, err: error }, "webhook given up");
      await deleteOldWebhooks(db, KEEP_DAYS);
    }
  }
}

/** Short, and storable. */
const toText = (error: unknown) =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error))
    .replaceAll("\0", "\ufffd")
    .toWellFormed()
    .slice(0, 500);
