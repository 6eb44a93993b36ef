// What a source of literature is to the agent: words in, sources out. The providers know the wire, nobody else does.

export interface Source {
  /** What a claim cites: provider and the provider's own id, as in `openalex:W2741809807`, `arxiv:2101.00001`. */
  readonly id: string;
  readonly title: string;
  readonly authors: readonly string[];
  readonly year?: number | undefined;
  readonly url: string;
  /** Without `https://doi.org/`, in small letters. */
  readonly doi?: string | undefined;
  readonly abstract: string;
}

export interface LiteratureProvider {
  readonly name: string;
  /**
   * Sources for these words, the best first; none is an answer.
   * @throws LiteratureError
   */
  search(
    query: string,
    options: { readonly limit: number; readonly signal?: AbortSignal | undefined },
  ): Promise<Source[]>;
}

/** A provider that did not answer, in words for a reader of the research. */
export class LiteratureError extends Error {
  override readonly name = "LiteratureError";
}

/** One line of text that a stranger has written: no markup, no line breaks, no end of its own. */
export function oneLine(text: unknown, maxChars: number): string {
  const line = String(text ?? "")
    .replace(/<[^<>]{0,200}>/g, "")
    .replace(/[\s\p{C}]+/gu, " ")
    .trim();
  return line.length > maxChars ? `${line.slice(0, maxChars).toWellFormed()}…` : line;
}

export const MAX_TITLE_CHARS = 300;
export const MAX_ABSTRACT_CHARS = 3_000;
export const MAX_AUTHORS = 20;
