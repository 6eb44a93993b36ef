import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  ARXIV,
  arxivEntry,
  arxivFeed,
  openAlexAnswer,
  openAlexWork,
} from "../../../../test/fixtures/research/recorded-answers.ts";
import { answerWith, half, silence, startLiterature } from "../../../../test/helpers/literature-server.ts";
import { createArxiv } from "./arxiv.ts";
import { createOpenAlex } from "./openalex.ts";
import { REQUEST_SETTINGS } from "./request.ts";
import { searchAll } from "./search-all.ts";

let server: Awaited<ReturnType<typeof startLiterature>>;
beforeAll(async () => {
  server = await startLiterature();
});
beforeEach(() => server.reset());
afterAll(() => server.close());

const quick = { ...REQUEST_SETTINGS, backoffMs: 1, retries: 2 };
const openAlex = (settings = {}) =>
  createOpenAlex({ baseUrl: server.url, settings: { ...quick, ...settings } });
const arxiv = (settings = {}) =>
  createArxiv({ baseUrl: server.url, paceMs: 0, settings: { ...quick, ...settings } });
const search = (provider: ReturnType<typeof openAlex>, query = "rain temperature") =>
  provider.search(query, { limit: 5 });

describe("OpenAlex", () => {
  test("is asked politely, and its works are sources with whole abstracts", async () => {
    const sources = await search(openAlex({ mailto: "me@example.org" }), "rain: temperature, coast");
    expect(sources[0]).toEqual({
      id: "openalex:W1001",
      title: "Warm air holds more water",
      authors: ["Ada Marsh", "Bo Lindqvist"],
      year: 2019,
      url: "https://doi.org/10.5555/rain.1001",
      doi: "10.5555/rain.1001",
      abstract:
        "Warm air holds more water and so heavy rain grows with temperature at about seven percent a degree.",
    });
    const [{ url, userAgent } = { url: new URL("http://x"), userAgent: "" }] = server.requests;
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      search: "rain  temperature  coast",
      "per-page": "5",
      mailto: "me@example.org",
    });
    expect(userAgent).toBe("Heddle (mailto:me@example.org)");
  });

  test("leaves out works that are not whole, and takes those that have little", async () => {
    const { id, display_name } = openAlexWork(7, "Bare", "");
    server.answer(
      answerWith(openAlexAnswer({ id: 3 }, { id, display_name, doi: null, authorships: null }, {})),
    );
    expect(await search(openAlex())).toEqual([
      { id: "openalex:W7", title: "Bare", authors: [], url: "https://openalex.org/W7", abstract: "" },
    ]);
  });

  test("cannot make an abstract of endless length", async () => {
    const work = {
      ...openAlexWork(7, "Long", ""),
      abstract_inverted_index: { a: [0, 4_000_000_000], b: [1] },
    };
    server.answer(answerWith(openAlexAnswer(work)));
    expect(await search(openAlex())).toMatchObject([{ abstract: "a b" }]);
  });
});

describe("arXiv", () => {
  test("is asked for all words, and its entries are sources without versions and line breaks", async () => {
    const sources = await search(arxiv(), "rain: and 'temperature'");
    expect(sources[0]).toEqual({
      id: "arxiv:2011.01234",
      title: "Seasonal rain & temperature: a statistical view",
      authors: ["Carla Voss", "Dan Okafor"],
      year: 2020,
      url: "https://arxiv.org/abs/2011.01234",
      doi: "10.5555/ax.2011.01234",
      abstract: "Rain and temperature are anticorrelated in maritime climates.",
    });
    expect(server.requests[0]?.url.searchParams.get("search_query")).toBe(
      "all:rain AND all:and AND all:temperature",
    );
  });

  test("has one entry, or none, or its error entry", async () => {
    const error = `<entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>bad</summary></entry>`;
    server.answer(
      ...[arxivFeed(arxivEntry("1", "One", "")), arxivFeed(), arxivFeed(error)].map((feed) =>
        answerWith(feed),
      ),
    );
    const provider = arxiv();
    expect((await search(provider)).map(({ id }) => id)).toEqual(["arxiv:1"]);
    expect(await search(provider)).toEqual([]);
    expect(await search(provider)).toEqual([]);
  });

  test("is not asked for nothing", async () => {
    expect(await search(arxiv(), " :- ")).toEqual([]);
    expect(server.requests).toEqual([]);
  });

  test("expands no entity without end", async () => {
    const bomb = `<!DOCTYPE a [<!ENTITY b "${"x".repeat(1000)}"><!ENTITY c "${"&b;".repeat(1000)}"><!ENTITY d "${"&c;".repeat(1000)}">]>`;
    const feed = ARXIV.replace("?>", `?>${bomb}`).replace("a statistical view", "&d;");
    server.answer(...[1, 2, 3].map(() => answerWith(feed)));
    const titles = await search(arxiv()).then(
      (sources) => sources.map(({ title }) => title).join(),
      (error: Error) => error.message,
    );
    expect(titles.length).toBeLessThan(1_000);
  });
});

describe.each([
  ["OpenAlex", openAlex],
  ["arXiv", arxiv],
])("%s", (name, create) => {
  test.each([
    ["is busy", answerWith("", 429)],
    ["is busy for a while", answerWith("", 429, { "retry-after": "0" })],
    [
      "is busy until a time that has come",
      answerWith("", 503, { "retry-after": "Mon, 01 Jan 2024 00:00:00 GMT" }),
    ],
    ["fails", answerWith("oops", 500)],
    ["breaks off", half],
    ["sends a page", answerWith("<html><body>Sign in")],
    ["sends half an answer", answerWith('{"results": [{"id"')],
  ])("that %s once is asked again", async (_what, fault) => {
    server.answer(fault);
    expect((await search(create())).length).toBe(2);
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    ["is busy", answerWith("", 429), `${name} answered 429.`],
    ["fails", answerWith("", 502), `${name} answered 502.`],
    ["breaks off", half, `${name} could not be reached.`],
    ["sends what cannot be read", answerWith("<feed>{"), `${name} sent an answer that cannot be read.`],
  ])("that %s again and again is given up, with the reason", async (_what, fault, reason) => {
    server.answer(fault, fault, fault);
    await expect(search(create())).rejects.toMatchObject({ name: "LiteratureError", message: reason });
    expect(server.requests).toHaveLength(3);
  });

  test("that is silent is given up after its time", async () => {
    server.answer(silence);
    await expect(search(create({ timeoutMs: 30, retries: 0 }))).rejects.toThrow(
      `${name} did not answer within 0.03 seconds.`,
    );
  });

  test.each([
    ["refuses", answerWith("", 403)],
    ["wants us to wait for an hour", answerWith("", 429, { "retry-after": "3600" })],
    ["sends without end", answerWith(`"${"x".repeat(11 * 1024 ** 2)}"`)],
  ])("that %s is not asked again", async (_what, fault) => {
    server.answer(fault);
    await expect(search(create())).rejects.toMatchObject({ name: "LiteratureError" });
    expect(server.requests).toHaveLength(1);
  });

  test("ends with its run", async () => {
    server.answer(silence);
    const stop = new AbortController();
    const searching = create().search("rain", { limit: 1, signal: stop.signal });
    await expect.poll(() => server.requests.length).toBe(1);
    stop.abort(new Error("cancelled"));
    await expect(searching).rejects.toThrow("cancelled");
  });
});

describe("all providers together", () => {
  test("give each work once, the best of each first", async () => {
    const { sources, failures } = await searchAll([openAlex(), arxiv()], ["rain", "heat"]);
    expect(sources.map(({ id }) => id)).toEqual(["openalex:W1001", "arxiv:2011.01234", "openalex:W1002"]);
    expect(failures).toEqual([]);
    expect(server.requests).toHaveLength(4);
  });

  test("do without one that fails, and name it", async () => {
    const gone = createOpenAlex({ baseUrl: "http://127.0.0.1:1", settings: { ...quick, retries: 0 } });
    const { sources, failures } = await searchAll([gone, arxiv()], ["rain"]);
    expect(sources).toHaveLength(2);
    expect(failures).toEqual(["OpenAlex could not be reached."]);
  });

  test("that all fail are an error", async () => {
    const gone = createOpenAlex({ baseUrl: "http://127.0.0.1:1", settings: { ...quick, retries: 0 } });
    await expect(searchAll([gone], ["rain"])).rejects.toThrow("OpenAlex could not be reached.");
  });
});
