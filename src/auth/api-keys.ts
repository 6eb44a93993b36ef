// The rules of API_KEYS: every key has a name, and what is made with it belongs to that name (`metadata.owner`). The
// graphs' own assistants are everybody's, to read and to run.
import { createHash, timingSafeEqual } from "node:crypto";
import { AppError } from "../errors.ts";
import { isObject } from "../graphs/graph.ts";
import type { Access, IncomingRequest, Rules } from "./access.ts";

export interface ApiKey {
  /** Who has it. */
  readonly name: string;
  /** SHA-256 of the key, in hexadecimal: the key itself is kept nowhere. */
  readonly digest: string;
}

export function createKeyRules(keys: readonly ApiKey[]): Rules {
  const known = keys.map(({ name, digest }) => ({
    access: createAccess(name),
    digest: Buffer.from(digest, "hex"),
  }));
  return {
    async authenticate({ headers }) {
      for (const key of readKeys(headers)) {
        const digest = createHash("sha256").update(key).digest();
        // All of them, whichever it is: the time says nothing.
        const [found] = known.filter((one) => timingSafeEqual(one.digest, digest));
        if (found) return found.access;
      }
      throw new AppError("unauthorized", "Send a valid key as x-api-key or as Authorization: Bearer.", {
        headers: { "www-authenticate": "Bearer" },
      });
    },
    accessOf: (user) => known.find(({ access }) => isObject(user) && access.owner === user.identity)?.access,
  };
}

/** Both may be there: SDKs send an `x-api-key` of their environment by themselves. */
function readKeys({ "x-api-key": key, authorization }: IncomingRequest["headers"]): string[] {
  const bearer = String(authorization ?? "").match(/^bearer +(\S+)$/i)?.[1];
  return [key, bearer].flat().filter((one) => one !== undefined);
}

function createAccess(owner: string): Access {
  const user = { identity: owner, permissions: [], is_authenticated: true, display_name: owner };
  return {
    caller: { identity: owner, permissions: [], user },
    owner,
    async check(resource, action, value) {
      // The store is divided by `owner` as a whole.
      if (resource === "store") return undefined;
      if (action === "create" || action === "create_run" || action === "update") {
        const metadata: Record<string, unknown> = { ...(value.metadata as object | undefined), owner };
        // What a graph's own assistant is known by is not a client's to say.
        if (metadata.created_by === "system") delete metadata.created_by;
        value.metadata = metadata;
      }
      if (resource === "assistants" && (action === "read" || action === "search")) {
        return { $either: [{ owner }, { created_by: "system" }] };
      }
      return { owner };
    },
  };
}
