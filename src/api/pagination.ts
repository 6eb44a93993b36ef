// Headers that tell a client of a list how much there is and where to go on (names of the LangGraph SDK).

export function pageHeaders(
  { limit, offset }: { limit: number; offset: number },
  found: number,
  total: number,
): Record<string, string> {
  const next = offset + found;
  // A statement that counts the rows it gives does not know the total of an empty page.
  return {
    ...(found > 0 || offset === 0 || total > 0 ? { "x-pagination-total": String(total) } : {}),
    ...(found === limit && next < total ? { "x-pagination-next": String(next) } : {}),
  };
}
