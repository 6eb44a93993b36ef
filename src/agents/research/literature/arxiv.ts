// arXiv (https://info.arxiv.org/help/api/user-manual.html): preprints, as an Atom feed. Its terms ask for one request at
// a time and three seconds between two.
import { setTimeout as wait } from "node:timers/promises";
import { XMLParser, XMLValidator } from "fast-xml-parser";
import { z } from "zod";
import { createGate } from "../../../sandbox/gate.ts";
import {
  type LiteratureProvider,
  MAX_ABSTRACT_CHARS,
  MAX_AUTHORS,
  MAX_TITLE_CHARS,
  oneLine,
  type Source,
} from "./provider.ts";
import { type RequestSettings, request } from "./request.ts";

const MAX_TERMS = 12;

const entrySchema = z.object({
  id: z.string().regex(/\/abs\/\S+$/),
  title: z.coerce.string().min(1),
  summary: z.coerce.string().default(""),
  published: z.string().optional(),
  author: z.array(z.object({ name: z.coerce.string() })).default([]),
  doi: z.coerce.string().optional(),
});
type Entry = z.output<typeof entrySchema>;

const feedSchema = z.object({ feed: z.object({ entry: z.array(z.unknown()).default([]) }) });

const parser = new XMLParser({
  removeNSPrefix: true,
  // All values stay texts: a title may be a number.
  parseTagValue: false,
  isArray: (name) => name === "entry" || name === "author",
});

interface ArxivOptions {
  readonly baseUrl: string;
  /** Milliseconds between two requests. */
  readonly paceMs: number;
  readonly settings: RequestSettings;
}

export function createArxiv({ baseUrl, paceMs, settings }: ArxivOptions): LiteratureProvider {
  const gate = createGate(1);
  let next = 0;
  async function inTurn(work: () => Promise<Source[]>, signal: AbortSignal): Promise<Source[]> {
    return gate.pass(signal, async () => {
      await wait(Math.max(0, next - performance.now()), undefined, { signal });
      try {
        return await work();
      } finally {
        next = performance.now() + paceMs;
      }
    });
  }
  return {
    name: "arXiv",
    async search(query, { limit, signal = new AbortController().signal }) {
      const terms = (query.match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, MAX_TERMS);
      if (terms.length === 0) return [];
      const url = new URL(`${baseUrl.replace(/\/$/, "")}/api/query`);
      url.searchParams.set("search_query", terms.map((term) => `all:${term}`).join(" AND "));
      url.searchParams.set("start", "0");
      url.searchParams.set("max_results", String(limit));
      url.searchParams.set("sortBy", "relevance");
      return inTurn(() => request("arXiv", url, readFeed, settings, signal), signal);
    },
  };
}

/** @throws Error for what is no feed; arXiv tells an error as an entry, which is left out as one that is not whole */
function readFeed(text: string): Source[] {
  const validity = XMLValidator.validate(text);
  if (validity !== true) throw new Error(validity.err.msg);
  const { feed } = feedSchema.parse(parser.parse(text));
  return feed.entry.flatMap((entry) => {
    const { data } = entrySchema.safeParse(entry);
    return data ? [toSource(data)] : [];
  });
}

function toSource(entry: Entry): Source {
  // The version is not part of what is cited.
  const id = entry.id.replace(/^.*\/abs\//, "").replace(/v\d+$/, "");
  const year = Number.parseInt(entry.published ?? "", 10);
  return {
    id: `arxiv:${id}`,
    title: oneLine(entry.title, MAX_TITLE_CHARS),
    authors: entry.author.map(({ name }) => oneLine(name, 100)).slice(0, MAX_AUTHORS),
    year: Number.isNaN(year) ? undefined : year,
    url: `https://arxiv.org/abs/${id}`,
    doi: entry.doi?.trim().toLowerCase(),
    abstract: oneLine(entry.summary, MAX_ABSTRACT_CHARS),
  };
}
