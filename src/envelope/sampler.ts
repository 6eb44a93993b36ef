// Between those who make envelopes and the one who reads them: sends what was joined after a moment, and asks for more only
// when the reader has room. So a slow reader holds up nobody, and little waits for him.
import { type Cursor, createJoiner, type Placed, type Sent, toText } from "./joiner.ts";
import type { Profile } from "./schema.ts";

export interface SampleOptions {
  readonly profile: Profile;
  /** Milliseconds for which tokens and updates are joined; undefined: they are joined by their number alone. */
  readonly windowMs?: number | undefined;
  /** Where the reader was cut off. What came before is not in `pages`. */
  readonly resume?: Cursor | undefined;
}

/** Pages in, pages out. Ends when `pages` ends; a failure of theirs comes after what was waiting. */
export async function* sample(
  pages: AsyncIterable<readonly Placed[]>,
  { profile, windowMs, resume }: SampleOptions,
): AsyncGenerator<readonly Sent[]> {
  if (profile === "debug") {
    for await (const page of pages)
      yield page.map((placed) => ({ cursor: toText(placed), envelope: placed.envelope }));
    return;
  }
  const joiner = createJoiner(resume);
  const iterator = pages[Symbol.asyncIterator]();
  /** Asked for only when the reader has taken what there was. */
  let next: Promise<IteratorResult<readonly Placed[]>> | undefined;
  let due: number | undefined;
  let failure: { readonly error: unknown } | undefined;
  try {
    for (;;) {
      next ??= iterator.next();
      const result = due === undefined ? await next : await before(due, next);
      if (result?.done) break;
      const sent = result ? result.value.flatMap((placed) => joiner.add(placed)) : [];
      if (result) next = undefined;
      if (due !== undefined && performance.now() >= due) sent.push(...joiner.flush());
      if (joiner.isEmpty()) due = undefined;
      else if (windowMs !== undefined && (due === undefined || sent.length > 0))
        due = performance.now() + windowMs;
      if (sent.length > 0) yield sent;
    }
  } catch (error) {
    failure = { error };
  } finally {
    // Not waited for: it may be waiting itself, for a graph that says nothing more.
    next?.catch(() => undefined);
    iterator.return?.().catch(() => undefined);
  }
  const rest = joiner.flush();
  if (rest.length > 0) yield rest;
  if (failure) throw failure.error;
}

/** What comes until then, or undefined. */
async function before<T>(due: number, next: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), Math.max(due - performance.now(), 0));
  try {
    return await Promise.race([next, promise]);
  } finally {
    clearTimeout(timer);
  }
}
