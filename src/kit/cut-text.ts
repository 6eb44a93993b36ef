// Shortens text for the model, always at the same place, and says so. Pure.

/** The lines of `text` that fit into `maxChars`, then `note`; `text` itself when it fits. */
export function cutAtLine(text: string, maxChars: number, note: string): string {
  if (text.length <= maxChars) return text;
  const end = text.lastIndexOf("\n", maxChars);
  const kept = text.slice(0, end > 0 ? end : maxChars).toWellFormed();
  return `${kept}\n[... ${note} ...]`;
}
