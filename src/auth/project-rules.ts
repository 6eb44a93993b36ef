// The project's own rules: `auth.path` of langgraph.json names an `Auth` of the LangGraph SDK. It is known by its
// handlers and not by its class: the project may have another copy of the SDK than we have.
import { AppError } from "../errors.ts";
import { isObject } from "../graphs/graph.ts";
import type { Access, Caller, IncomingRequest, Rules, Scope } from "./access.ts";
import { toScope } from "./filters.ts";

type Handler = (request: Record<string, unknown>) => unknown;

/** The SDK's `Auth` as far as it is used; handlers may be added as long as the server runs. */
export interface ProjectAuth {
  readonly "~handlerCache": {
    readonly authenticate: (request: Request) => unknown;
    readonly callbacks?: Readonly<Record<string, Handler>>;
  };
}

/** Whether `value` is an `Auth` that can tell who a caller is. One that cannot would let everybody do everything. */
export function isProjectAuth(value: unknown): value is ProjectAuth {
  const cache = isObject(value) ? value["~handlerCache"] : undefined;
  return isObject(cache) && typeof cache.authenticate === "function";
}

export function createProjectRules(auth: ProjectAuth): Rules {
  const toAccess = (caller: Caller): Access => ({ caller, owner: "", check: createCheck(auth, caller) });
  return {
    authenticate: async (request) => toAccess(await identify(auth, request)),
    accessOf: (user) => (isObject(user) ? toAccess(toCaller(user)) : undefined),
  };
}

/** @throws AppError as the handler wants it; "internal" when it fails */
async function identify(auth: ProjectAuth, request: IncomingRequest): Promise<Caller> {
  try {
    return toCaller(await auth["~handlerCache"].authenticate(toWebRequest(request)));
  } catch (error) {
    throw toRefusal("unauthorized", error);
  }
}

function createCheck(auth: ProjectAuth, { user, permissions }: Caller): Access["check"] {
  return async (resource, action, value) => {
    const { callbacks = {} } = auth["~handlerCache"];
    const key = [`${resource}:${action}`, resource, `*:${action}`, "*"].find((name) => callbacks[name]);
    const handler = key === undefined ? undefined : callbacks[key];
    if (!handler) return undefined;
    // Handlers stamp the owner on it: `value.metadata.owner = …`.
    if (STAMPED.has(action) && resource !== "store") value.metadata ??= {};
    const event = `${resource}:${action}`;
    try {
      return toAnswer(await handler({ event, resource, action, value, permissions, user }));
    } catch (error) {
      throw toRefusal("forbidden", error);
    }
  };
}

const STAMPED: ReadonlySet<string> = new Set(["create", "create_run", "update"]);

/** @throws AppError forbidden, Error for what a handler must not return */
function toAnswer(result: unknown): Scope {
  if (result === undefined || result === null || result === true) return undefined;
  if (result === false) throw new AppError("forbidden", "Not authorized");
  if (isObject(result) && !Array.isArray(result)) return toScope(result);
  throw new Error("A handler of the project's auth must return nothing, true, false or a filter object.");
}

/** A name, or an object with `identity`; the graph gets all of it. */
function toCaller(response: unknown): Caller {
  const user = typeof response === "string" ? { identity: response } : response;
  if (!isObject(user) || typeof user.identity !== "string") {
    throw new Error(
      "`authenticate` of the project's auth must return a string or an object with `identity`.",
    );
  }
  const { identity } = user;
  const permissions = Array.isArray(user.permissions) ? user.permissions.map(String) : [];
  return {
    identity,
    permissions,
    user: {
      ...user,
      permissions,
      is_authenticated: user.is_authenticated ?? true,
      display_name: user.display_name ?? identity,
    },
  };
}

/** Without the body: that is the route's. */
function toWebRequest({ method, url, headers }: IncomingRequest): Request {
  const given = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value ?? []].flat()) given.append(name, one);
  }
  return new Request(url, { method, headers: given });
}

/** What a handler throws with a status (the SDK's HTTPException, or another's) is what is answered. */
function toRefusal(code: "unauthorized" | "forbidden", error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (!isObject(error) || !isRefusal(error.status)) {
    return new AppError("internal", "Internal Server Error", { cause: error });
  }
  const message = typeof error.message === "string" && error.message !== "" ? error.message : "Unauthorized";
  return new AppError(code, message, {
    cause: error,
    status: error.status,
    headers: toHeaders(error.headers),
  });
}

const isRefusal = (status: unknown): status is number =>
  Number.isInteger(status) && Number(status) >= 300 && Number(status) <= 599;

/** Those of the connection are the server's own. */
function toHeaders(given: unknown): Record<string, string> {
  if (!isObject(given)) return {};
  const headers = new Headers(given as Record<string, string>);
  for (const name of ["connection", "content-length", "transfer-encoding"]) headers.delete(name);
  return Object.fromEntries(headers);
}
