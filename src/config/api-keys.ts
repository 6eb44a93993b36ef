// What stands in API_KEYS. The keys are hashed as soon as they are read, so that nothing can print them.
import { createHash } from "node:crypto";
import type { z } from "zod";

export interface ApiKeySettings {
  /** Whose key it is. A key alone is named after its hash. */
  readonly name: string;
  /** SHA-256 of the key, in hexadecimal. */
  readonly digest: string;
}

/** A name may have several keys, so that one can be renewed; a key has one name. */
export function parseApiKeys(text: string, context: z.RefinementCtx): ApiKeySettings[] {
  const parts = text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
  const keys = parts.flatMap((part) => {
    const [, name, key] = /^(?:([\w.@-]{1,100}):)?([\w.~+/=-]{8,500})$/.exec(part) ?? [];
    if (key === undefined) return [];
    const digest = createHash("sha256").update(key).digest("hex");
    return [{ name: name ?? `key-${digest.slice(0, 8)}`, digest }];
  });
  const isWhole = keys.length === parts.length && new Set(keys.map((key) => key.digest)).size === keys.length;
  // The value is in no message: it holds the keys.
  if (!isWhole) context.addIssue("is not a list of different keys");
  return keys;
}
