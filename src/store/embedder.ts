// What turns texts into vectors, as `store.index.embed` of langgraph.json names it: a model of a provider, or the
// project's own code. Sees to it that what comes back is what was promised.
import { existsSync } from "node:fs";
import path from "node:path";
import { OpenAIEmbeddings } from "@langchain/openai";
import { AppError, StartupError } from "../errors.ts";
import type { Importer } from "../graphs/importer.ts";

export interface Embedder {
  /** One vector for each text. @throws AppError embedding_failed */
  embed(texts: readonly string[]): Promise<number[][]>;
  /** @throws AppError embedding_failed */
  embedQuery(text: string): Promise<number[]>;
}

/** LangChain's Embeddings, by what they can. */
interface Embeddings {
  embedDocuments(texts: string[]): Promise<number[][]>;
  embedQuery(text: string): Promise<number[]>;
}

interface EmbedderOptions {
  /** `provider:model`, or `./file.ts:export` with an Embeddings object or a function from texts to vectors. */
  readonly embed: string;
  readonly dims: number;
  /** langgraph.json: relative paths start at its folder. */
  readonly file: string;
  readonly importer: Pick<Importer, "import">;
  readonly openai: { readonly apiKey?: string | undefined; readonly baseUrl?: string | undefined };
}

/** A put waits for it, and a client for the put. */
const TIMEOUT_MS = 30_000;
const RETRIES = 2;

/** @throws StartupError when there is no such provider, file or export */
export async function createEmbedder(options: EmbedderOptions): Promise<Embedder> {
  const { embed, dims } = options;
  const embeddings = /^\.{0,2}\//.test(embed) ? await importEmbeddings(options) : toProvider(options);
  const asked = async (ask: () => Promise<number[][]>, count: number): Promise<number[][]> => {
    let vectors: unknown;
    try {
      vectors = await ask();
    } catch (error) {
      throw failed(
        `the texts could not be embedded: ${error instanceof Error ? error.message : error}`,
        error,
      );
    }
    if (!Array.isArray(vectors) || vectors.length !== count) {
      throw failed(`it gave ${Array.isArray(vectors) ? vectors.length : "no"} vectors for ${count} texts`);
    }
    for (const vector of vectors as unknown[]) checkVector(vector);
    return vectors as number[][];
  };
  const failed = (problem: string, cause?: unknown) =>
    new AppError("embedding_failed", `store.index.embed (${embed}): ${problem}.`, { cause });
  const checkVector = (vector: unknown) => {
    if (!Array.isArray(vector) || vector.length !== dims) {
      const found = Array.isArray(vector)
        ? `a vector of ${vector.length} dimensions`
        : "something that is no vector";
      throw failed(`it gave ${found}, where langgraph.json says ${dims}`);
    }
    if (!vector.every(Number.isFinite)) throw failed("it gave a vector with something that is no number");
  };
  return {
    embed: async (texts) =>
      texts.length === 0 ? [] : asked(() => embeddings.embedDocuments([...texts]), texts.length),
    async embedQuery(text) {
      const [vector = []] = await asked(async () => [await embeddings.embedQuery(text)], 1);
      return vector;
    },
  };
}

function toProvider({ embed, dims, file, openai }: EmbedderOptions): Embeddings {
  const [provider, ...rest] = embed.split(":");
  const model = rest.join(":");
  if (provider !== "openai" || model === "") {
    throw new StartupError(
      `store.index.embed is "${embed}", and of that kind only "openai:<model>" is known.`,
      {
        file,
        next: 'For another provider write "./file.ts:export": its Embeddings object, or a function from texts to vectors.',
      },
    );
  }
  // An endpoint of one's own may want no key.
  const apiKey = openai.apiKey ?? (openai.baseUrl ? "none" : undefined);
  if (apiKey === undefined) {
    throw new StartupError(`store.index.embed is "${embed}", which needs a key.`, {
      file,
      next: "Set OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint of your own.",
    });
  }
  return new OpenAIEmbeddings({
    model,
    apiKey,
    // Only these models can be asked for a number of dimensions.
    ...(model.startsWith("text-embedding-3") ? { dimensions: dims } : {}),
    timeout: TIMEOUT_MS,
    maxRetries: RETRIES,
    ...(openai.baseUrl ? { configuration: { baseURL: openai.baseUrl } } : {}),
  });
}

async function importEmbeddings({ embed, file, importer }: EmbedderOptions): Promise<Embeddings> {
  const colon = embed.lastIndexOf(":");
  const [source, name] = colon > 0 ? [embed.slice(0, colon), embed.slice(colon + 1)] : [embed, "default"];
  const code = path.resolve(path.dirname(file), source);
  const wrong = (problem: string, cause?: unknown) =>
    new StartupError(`store.index.embed is "${embed}": ${problem}.`, {
      file: code,
      next: "It must export an Embeddings object of LangChain, or a function from a list of texts to one of vectors.",
      cause,
    });
  if (!existsSync(code)) throw wrong("there is no such file");
  const module: Record<string, unknown> = await importer.import(code).catch((error: unknown) => {
    throw wrong(`it cannot be imported (${error instanceof Error ? error.message : error})`, error);
  });
  const found = await module[name];
  if (isEmbeddings(found)) return found;
  if (typeof found !== "function") throw wrong(`there is no such export "${name}"`);
  const embedAll = found as (texts: string[]) => Promise<number[][]> | number[][];
  return {
    embedDocuments: async (texts) => embedAll(texts),
    embedQuery: async (text) => (await embedAll([text]))[0] ?? [],
  };
}

const isEmbeddings = (value: unknown): value is Embeddings =>
  typeof value === "object" && value !== null && "embedDocuments" in value && "embedQuery" in value;
