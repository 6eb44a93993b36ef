// Asks all providers all questions, and gives each source once. A provider that fails is named; the others count.
import { LiteratureError, type LiteratureProvider, type Source } from "./provider.ts";

export interface Found {
  readonly sources: readonly Source[];
  /** Why something is missing, one sentence each. */
  readonly failures: readonly string[];
}

/** Of each provider and question. */
const LIMIT = 8;

/** @throws LiteratureError when no provider has answered any question */
export async function searchAll(
  providers: readonly LiteratureProvider[],
  queries: readonly string[],
  signal?: AbortSignal,
): Promise<Found> {
  const searches = queries.flatMap((query) =>
    providers.map((provider) => provider.search(query, { limit: LIMIT, signal })),
  );
  const results = await Promise.allSettled(searches);
  signal?.throwIfAborted();
  const failures = new Set<string>();
  for (const result of results) {
    if (result.status === "fulfilled") continue;
    if (!(result.reason instanceof LiteratureError)) throw result.reason;
    failures.add(result.reason.message);
  }
  const lists = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  if (lists.length === 0 && failures.size > 0) throw new LiteratureError([...failures].join(" "));
  return { sources: eachOnce(inTurns(lists)), failures: [...failures] };
}

/** The first of each list, then the second of each, so that the best of every question come first. */
function inTurns(lists: readonly (readonly Source[])[]): Source[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list[index] ?? [])).flat();
}

/** A work that both providers have stays with the first one. */
function eachOnce(sources: readonly Source[]): Source[] {
  const seen = new Set<string>();
  return sources.filter(({ id, doi, title }) => {
    const names = [
      id,
      ...(doi ? [`doi ${doi}`] : []),
      `title ${title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")}`,
    ];
    const isNew = !names.some((name) => seen.has(name));
    for (const name of names) seen.add(name);
    return isNew;
  });
}
