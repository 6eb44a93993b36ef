// Reads JSON bodies, also those that are not called so, and refuses here what would fail later: nesting that overflows a stack, texts that PostgreSQL
// cannot store, keys that reach for the prototype.
import type { FastifyInstance } from "fastify";
import { AppError, type ErrorCode } from "../errors.ts";

/** Deep enough for any message or state, far below what a recursive reader can bear. */
const MAX_DEPTH = 128;
/** Of the path to a field, as errors name it. */
const MAX_SHOWN_KEYS = 10;
const MAX_SHOWN_KEY = 100;

export function readJsonBodies(app: FastifyInstance): void {
  app.removeContentTypeParser(["application/json", "text/plain"]);
  // What has no content type, or that of a plain text (`fetch` gives it to a string), is taken for JSON.
  app.addHook("onRequest", async ({ raw: { headers } }) => {
    if (/^text\/plain\b/i.test(headers["content-type"] ?? "text/plain")) {
      headers["content-type"] = "application/json";
    }
    const encoding = headers["content-encoding"] ?? "identity";
    if (encoding !== "identity") {
      throw new AppError("unsupported_media_type", `Bodies are read as they are, not with ${encoding}.`);
    }
  });
  // No body is an empty object: what the route needs is then named as missing in it.
  app.addHook("preValidation", async (request) => {
    if (request.body === undefined && request.routeOptions.schema?.body) request.body = {};
  });
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, text, done) => {
    try {
      done(null, parseBody(text.toString()));
    } catch (error) {
      done(error as Error);
    }
  });
}

/** No body is no value. @throws AppError malformed_json, too_deep, invalid_text */
export function parseBody(text: string): unknown {
  if (text.trim() === "") return undefined;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new AppError("malformed_json", "Malformed JSON in request body", { cause: error });
  }
  check(body);
  return body;
}

interface Place {
  readonly value: unknown;
  readonly depth: number;
  readonly key: string;
  readonly parent: Place | undefined;
}

// A stack of our own: the nesting this looks for would overflow a recursive walk.
function check(body: unknown): void {
  const places: Place[] = [{ value: body, depth: 1, key: "body", parent: undefined }];
  for (let place = places.pop(); place; place = places.pop()) {
    const { value, depth } = place;
    if (typeof value === "string") checkText(value, "is a text", place);
    if (typeof value !== "object" || value === null) continue;
    if (depth > MAX_DEPTH) refuse("too_deep", place, `is nested deeper than ${MAX_DEPTH} levels`);
    for (const [key, child] of Object.entries(value)) {
      if (!Array.isArray(value)) checkKey(key, place);
      places.push({ value: child, depth: depth + 1, key, parent: place });
    }
  }
}

function checkKey(key: string, place: Place): void {
  checkText(key, "has a key", place);
  if (key === "__proto__") refuse("invalid_request", place, 'has a key "__proto__", which is refused');
}

function checkText(text: string, what: string, place: Place): void {
  if (text.includes("\0")) refuse("invalid_text", place, `${what} with a NUL character`);
  if (!text.isWellFormed()) {
    refuse("invalid_text", place, `${what} with half of a surrogate pair, which is not Unicode`);
  }
}

function refuse(code: ErrorCode, place: Place, problem: string): never {
  throw new AppError(code, `${toPath(place)}: ${problem}`);
}

/** As errors of validation name a field; the first keys are enough to find it. */
function toPath(place: Place): string {
  const keys: string[] = [];
  for (let at: Place | undefined = place; at; at = at.parent) keys.unshift(at.key.slice(0, MAX_SHOWN_KEY));
  return [...keys.slice(0, MAX_SHOWN_KEYS), ...(keys.length > MAX_SHOWN_KEYS ? ["…"] : [])].join(".");
}
