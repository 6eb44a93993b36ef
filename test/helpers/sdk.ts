// Small words for tests that speak through the SDK.

export const human = (text: string) => ({ messages: [{ role: "user", content: text }] });

/** All of a stream. */
export async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

/** Text of the last message of state values. */
export function lastText(values: unknown): unknown {
  return (values as { messages?: { content: unknown }[] }).messages?.at(-1)?.content;
}
