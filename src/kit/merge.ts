// How two values of one state key become one. Every handler is pure, takes null and undefined on both sides, and
// is idempotent: LangChain's nodes may write back what they have read, and that must change nothing.

/** Combines what a key holds with what is written to it. Null and undefined mean "nothing there". */
export type MergeHandler<Value> = (
  current: Value | null | undefined,
  next: Value | null | undefined,
) => Value | null;

/** The written value wins; null clears, undefined is no write. A handler, so that parallel tools may write one key. */
export function replaceValues<Value>(
  current: Value | null | undefined,
  next: Value | null | undefined,
): Value | null {
  return (next === undefined ? current : next) ?? null;
}

type ListOrElement<Element> = readonly Element[] | Element | null | undefined;

/**
 * Both lists in order, each element once: the default for lists (document 004, "Default Handlers"). What is no list
 * counts as a list of one. Elements are the same when their JSON is, so a list that is written back does not double.
 */
export function mergeLists<Element>(
  current: ListOrElement<Element>,
  next: ListOrElement<Element>,
): Element[] {
  const elements = new Map<unknown, Element>();
  for (const element of [...toList(current), ...toList(next)]) {
    const key = identityOf(element);
    if (!elements.has(key)) elements.set(key, element);
  }
  return [...elements.values()];
}

function toList<Element>(value: ListOrElement<Element>): readonly Element[] {
  if (value === null || value === undefined) return [];
  return Array.isArray(value) ? value : [value as Element];
}

/** The JSON, with what JSON leaves out of a Map, a Set or a BigInt; the element itself when it has none. */
function identityOf(element: unknown): unknown {
  try {
    return JSON.stringify(element, (_key, value: unknown) => {
      if (value instanceof Map || value instanceof Set) return [value.constructor.name, ...value];
      return typeof value === "bigint" ? `${value}n` : value;
    });
  } catch {
    return element;
  }
}

/** Document 000 `merge_artifacts`: order kept, first occurrence counts, cumulative over the turns of a thread. */
export function mergeArtifacts(
  current: readonly string[] | null | undefined,
  next: readonly string[] | null | undefined,
): string[] {
  return [...new Set([...(current ?? []), ...(next ?? [])])];
}

/** Document 000 `merge_viewed_images`: new wins per path; an empty record clears everything. */
export function mergeViewedImages<Image>(
  current: Readonly<Record<string, Image>> | null | undefined,
  next: Readonly<Record<string, Image>> | null | undefined,
): Record<string, Image> {
  if (next && Object.keys(next).length === 0) return {};
  return { ...current, ...next };
}
