// Whether a claim cites what a task has returned. What it cites beyond that is taken out of the text and listed, with
// the reason: a model that invents a reference must not reach a reader.
import type { Reference } from "./research-state.ts";

export interface RemovedCitation {
  /** As the model wrote it. */
  readonly citation: string;
  readonly reason: string;
}

export interface CheckedText {
  readonly text: string;
  /** Ids that the text cites, each once. */
  readonly cited: readonly string[];
  readonly removed: readonly RemovedCitation[];
}

const UNKNOWN = "No task has returned it.";
/** Stands where something was taken out: no text that can be stored has it. */
const GAP = "\0";
/** One or several ids in square brackets. */
const BRACKETS = /\[((?:openalex|arxiv|task|doi|pmid|source):[^\][\n]{1,200})\]/gi;
/** Names and a year in round brackets: nothing that a task returns has that form. */
const AUTHOR_YEAR =
  /\(\s*(?:see |cf\. |e\.g\.,? )?\p{Lu}[\p{L}'’-]+(?:(?:,? (?:and|und|et|&) |, )\p{Lu}[\p{L}'’.-]*)*(?: et al\.?)?,? \(?(?:19|20)\d{2}[a-z]?\)?(?:; [^()\n]{1,200})?\s*\)/gu;
const LINK = /\[([^\][\n]{1,300})\]\((https?:\/\/[^\s)]+)\)|https?:\/\/[^\s)\]>"']+/g;
const DOI = /\bdoi:\s*(10\.\d{4,9}\/[^\s)\];,]*[^\s)\];,.])/gi;

/** Keeps the citations of `references` in `text` and takes out the others. */
export function checkCitations(text: string, references: readonly Reference[]): CheckedText {
  const known = new Map(references.map((reference) => [reference.id.toLowerCase(), reference.id]));
  const links = new Set(
    references.flatMap(({ url, doi }) => [url, doi && `https://doi.org/${doi}`]).map(toLink),
  );
  const dois = new Set(references.map(({ doi }) => doi));
  const removed = new Map<string, RemovedCitation>();
  const cited = new Set<string>();
  const remove = (citation: string) => {
    removed.set(citation, { citation, reason: UNKNOWN });
    return GAP;
  };

  const checked = text
    .replaceAll(GAP, "")
    .replace(BRACKETS, (_whole, inner: string) => {
      const ids = inner.split(/\s*[;,]\s*/).flatMap((id) => {
        const found = known.get(
          id
            .trim()
            .replace(/^source:/i, "")
            .toLowerCase(),
        );
        if (found === undefined) remove(id.trim());
        else cited.add(found);
        return found ?? [];
      });
      return ids.map((id) => `[${id}]`).join("") || GAP;
    })
    .replace(LINK, (whole, label: string | undefined, target: string | undefined) => {
      const address = (target ?? whole).replace(/[.,;:]+$/, "");
      if (links.has(toLink(address))) return whole;
      const gap = remove(address);
      return label ?? gap + whole.slice(address.length);
    })
    .replace(DOI, (whole, doi: string) => (dois.has(doi.toLowerCase()) ? whole : remove(whole)))
    .replace(AUTHOR_YEAR, (whole) => remove(whole));
  return { text: close(checked), cited: [...cited], removed: [...removed.values()] };
}

/** Of these ids those that a task has returned. */
export function checkIds(ids: readonly string[], references: readonly Reference[]) {
  const { cited, removed } = checkCitations(
    ids.map((id) => `[${withoutBrackets(id)}]`).join(" "),
    references,
  );
  // An id of a form that there is none of is no citation to the text, either.
  const unknown = ids
    .map(withoutBrackets)
    .filter((id) => !/^(openalex|arxiv|task|doi|pmid|source):/i.test(id));
  return { cited, removed: [...removed, ...unknown.map((citation) => ({ citation, reason: UNKNOWN }))] };
}

const withoutBrackets = (id: string) => id.replace(/[[\]\n]/g, "").trim();

const toLink = (address: string | undefined) =>
  address
    ?.replace(/^http:/, "https:")
    .replace(/\/$/, "")
    .toLowerCase();

/** Closes the gaps where something was taken out, with the brackets that were only around that. */
function close(text: string): string {
  return text
    .replace(/\([ \t]{0,9}\0[\0 \t;,]*\)/g, GAP)
    .replace(/[ \t]{0,9}\0[\0 \t]*/g, (gap, at: number, whole: string) => {
      const [before, after] = [whole[at - 1] ?? "\n", whole[at + gap.length] ?? "\n"];
      const isOpen = /[\n(]/.test(before);
      const isClosed = /[\n.,;:!?)]/.test(after) && !/^\d/.test(whole[at + gap.length + 1] ?? "");
      return isOpen || isClosed || !/[ \t]/.test(gap) ? "" : " ";
    })
    .trim();
}
