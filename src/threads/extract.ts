// Takes single values out of a thread by their paths, as the `extract` of a search names them:
// "values.messages[-1].content", "metadata.owner". Pure.

/** Keys and places; a place below zero counts from the end. */
type Path = readonly (string | number)[];

const STEP = /(?:^|(?<=.)\.)([^.[\]]+)|\[(-?\d+)\]|\["((?:[^"\\]|\\.)*)"\]/gy;

/** Undefined when it is no path. */
export function toPath(text: string): Path | undefined {
  const path: (string | number)[] = [];
  let end = 0;
  for (const match of text.matchAll(STEP)) {
    const [step, key, place, quoted] = match;
    if (key !== undefined) path.push(key);
    else if (place !== undefined) path.push(Number(place));
    else path.push((quoted ?? "").replaceAll(/\\(.)/g, "$1"));
    end = match.index + step.length;
  }
  return end === text.length && typeof path[0] === "string" ? path : undefined;
}

/** What lies at `path` of the JSON of a value, of which no more is made than needed; null when there is nothing. */
export function extract(from: unknown, path: Path, toJson: (value: unknown) => string): unknown {
  const toPlain = (value: unknown): unknown => JSON.parse(toJson(value ?? null));
  let at = from;
  for (const step of path) {
    if (!isAsInJson(at)) at = toPlain(at);
    if (typeof step === "number") at = Array.isArray(at) ? at.at(step) : undefined;
    else if (typeof at !== "object" || at === null || Array.isArray(at) || !Object.hasOwn(at, step))
      return null;
    else at = (at as Record<string, unknown>)[step];
  }
  return toPlain(at);
}

/** Whether it has the same places and keys as its JSON: a message, a map or a date does not. */
const isAsInJson = (value: unknown) =>
  Array.isArray(value) ||
  (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype);
