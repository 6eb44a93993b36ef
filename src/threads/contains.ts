// Whether JSON contains JSON, as PostgreSQL's `@>` has it: so that a filter on values means what one on metadata means.
// Pure.

/** Of an object every key, of a list every element (in any order, at any place), at any depth. */
export function contains(whole: unknown, part: unknown): boolean {
  if (Array.isArray(part)) {
    if (!Array.isArray(whole)) return false;
    return part.every((element) => whole.some((candidate) => contains(candidate, element)));
  }
  if (isObject(part)) {
    if (!isObject(whole) || Array.isArray(whole)) return false;
    return Object.entries(part).every(
      ([key, value]) => Object.hasOwn(whole, key) && contains(whole[key], value),
    );
  }
  return whole === part;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
