// What a webhook says: the run at its end, as the LangGraph server tells it, with the headers of Standard Webhooks
// (standardwebhooks.com): an id that stays the same however often it is sent, the time, and a signature.
import { createHmac } from "node:crypto";
import type { ClaimedWebhook } from "./webhooks.sql.ts";

export interface Message {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * @param values the state at the run's end; undefined: the run has left none
 * @param secret base64, with or without `whsec_`; undefined: no signature
 */
export function toMessage(webhook: ClaimedWebhook, values: unknown, secret: string | undefined): Message {
  const { run, run_id: id, run_started_at, run_ended_at, now } = webhook;
  const { error, kwargs, created_at, updated_at, ...shown } = run;
  const body = JSON.stringify({
    ...shown,
    kwargs: withoutCredentials(kwargs),
    created_at: new Date(created_at),
    updated_at: new Date(updated_at),
    run_started_at,
    run_ended_at,
    webhook_sent_at: now,
    values,
    ...(error === null ? {} : { error: error.message }),
  });
  const timestamp = String(Math.floor(now.getTime() / 1000));
  return {
    body,
    headers: {
      "content-type": "application/json",
      "user-agent": "heddle",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      ...(secret === undefined ? {} : { "webhook-signature": sign(secret, `${id}.${timestamp}.${body}`) }),
    },
  };
}

const sign = (secret: string, content: string) =>
  `v1,${createHmac("sha256", Buffer.from(secret.replace(/^whsec_/, ""), "base64"))
    .update(content)
    .digest("base64")}`;

// What `authenticate` told of the caller is for the graph, and so are the headers of his that it may read: they may hold
// his tokens.
const CREDENTIALS = new Set([
  "langgraph_auth_user",
  "langgraph_auth_permissions",
  "authorization",
  "proxy-authorization",
  "cookie",
  "x-api-key",
]);

function withoutCredentials(kwargs: ClaimedWebhook["run"]["kwargs"]): object {
  const { config, ...rest } = kwargs;
  const shown = Object.entries(config?.configurable ?? {}).filter(
    ([key]) => !CREDENTIALS.has(key.toLowerCase()),
  );
  return { ...rest, config: { ...config, configurable: Object.fromEntries(shown) } };
}
