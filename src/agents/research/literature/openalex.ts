// OpenAlex (https://docs.openalex.org/api-entities/works/search-works): works of all fields, without a key. Abstracts
// come as an inverted index, and are put together again.
import { z } from "zod";
import {
  type LiteratureProvider,
  MAX_ABSTRACT_CHARS,
  MAX_AUTHORS,
  MAX_TITLE_CHARS,
  oneLine,
  type Source,
} from "./provider.ts";
import { type RequestSettings, request } from "./request.ts";

const FIELDS = [
  "id",
  "doi",
  "display_name",
  "publication_year",
  "authorships",
  "abstract_inverted_index",
  "primary_location",
];
/** Words of an abstract that are read. */
const MAX_WORDS = 5_000;

const workSchema = z.object({
  id: z.string().regex(/\/W\d+$/),
  doi: z.string().nullish(),
  display_name: z.string().min(1),
  publication_year: z.int().nullish(),
  authorships: z.array(z.object({ author: z.object({ display_name: z.string().nullish() }) })).nullish(),
  abstract_inverted_index: z.record(z.string(), z.array(z.int().min(0))).nullish(),
  primary_location: z.object({ landing_page_url: z.string().nullish() }).nullish(),
});
type Work = z.output<typeof workSchema>;

const answerSchema = z.object({ results: z.array(z.unknown()) });

interface OpenAlexOptions {
  readonly baseUrl: string;
  readonly settings: RequestSettings;
}

export function createOpenAlex({ baseUrl, settings }: OpenAlexOptions): LiteratureProvider {
  return {
    name: "OpenAlex",
    search(query, { limit, signal }) {
      const url = new URL(`${baseUrl.replace(/\/$/, "")}/works`);
      // A comma or a colon would be a filter.
      url.searchParams.set("search", query.replace(/[^\p{L}\p{N}\s-]+/gu, " ").trim());
      url.searchParams.set("per-page", String(limit));
      url.searchParams.set("select", FIELDS.join(","));
      if (settings.mailto) url.searchParams.set("mailto", settings.mailto);
      return request("OpenAlex", url, readWorks, settings, signal);
    },
  };
}

/** Works that are not whole are left out; an answer that is no list of works is none. */
function readWorks(text: string): Source[] {
  const { results } = answerSchema.parse(JSON.parse(text));
  return results.flatMap((result) => {
    const { data } = workSchema.safeParse(result);
    return data ? [toSource(data)] : [];
  });
}

function toSource(work: Work): Source {
  const id = work.id.slice(work.id.lastIndexOf("/") + 1);
  const doi = work.doi?.replace(/^https?:\/\/(dx\.)?doi\.org\//i, "").toLowerCase();
  const page = work.primary_location?.landing_page_url;
  const authors = (work.authorships ?? []).map(({ author }) => oneLine(author.display_name, 100));
  return {
    id: `openalex:${id}`,
    title: oneLine(work.display_name, MAX_TITLE_CHARS),
    authors: authors.filter(Boolean).slice(0, MAX_AUTHORS),
    year: work.publication_year ?? undefined,
    url: doi ? `https://doi.org/${doi}` : isWebPage(page) ? page : `https://openalex.org/${id}`,
    doi,
    abstract: oneLine(toText(work.abstract_inverted_index ?? {}), MAX_ABSTRACT_CHARS),
  };
}

function toText(index: Readonly<Record<string, readonly number[]>>): string {
  const words: string[] = [];
  for (const [word, places] of Object.entries(index)) {
    for (const place of places) if (place < MAX_WORDS) words[place] = word;
  }
  return words.filter((word) => word !== undefined).join(" ");
}

const isWebPage = (page: string | null | undefined): page is string =>
  typeof page === "string" && /^https?:\/\//.test(page) && URL.canParse(page);
