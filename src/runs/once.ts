// `Idempotency-Key`: a request that is sent again with its key gets the run that it has made the first time.
import { createHash } from "node:crypto";
import type { Queryable } from "../db/database.ts";
import { AppError } from "../errors.ts";
import type { Caller } from "./merge-config.ts";
import { lockIdempotencyKey, type RunRow, selectRunByKey } from "./runs.sql.ts";

interface Asked {
  readonly threadId: string | undefined;
  readonly caller?: Caller | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly headers?: unknown;
  readonly scope?: unknown;
  readonly assistantScope?: unknown;
}

interface Once {
  readonly key: string;
  readonly digest: string;
}

/** A key counts for its sender and thread; one sender's stateless runs are one space. */
export function toOnce(request: Asked): Once | undefined {
  // Headers and what is known of the sender may differ when he sends it again.
  const { idempotencyKey, caller, headers: _, scope: __, assistantScope: ___, ...asked } = request;
  if (idempotencyKey === undefined) return undefined;
  return {
    key: JSON.stringify([caller?.identity ?? "", request.threadId ?? "", idempotencyKey]),
    digest: createHash("sha256").update(JSON.stringify(asked)).digest("base64url"),
  };
}

/** Undefined: it is the first time. @throws AppError idempotency_key_reused */
export async function findRun(tx: Queryable, { key, digest }: Once): Promise<RunRow | undefined> {
  await lockIdempotencyKey(tx, key);
  const [found] = await selectRunByKey(tx, key);
  if (!found) return undefined;
  const { request_digest, ...run } = found;
  if (request_digest === digest) return run;
  throw new AppError(
    "idempotency_key_reused",
    "Another request was sent with this Idempotency-Key. Take a new key for each request.",
  );
}
