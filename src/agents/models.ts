// The models that an agent can run on: OpenAI's or those of any compatible endpoint, as the settings list them, or
// the demo model when they list none.
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { ModelSettings } from "../config.ts";
import { createChatOpenAI } from "./chat-openai.ts";
import { DemoModel, type DemoScript } from "./demo-model.ts";
import { createIdleFetch } from "./idle-fetch.ts";

export interface Model {
  /** What a run's `model_name` says. */
  readonly name: string;
  readonly chat: BaseChatModel;
  readonly vision: boolean;
  readonly maxRetries: number;
  /** Tokens that the model can read. */
  readonly contextTokens: number;
}

export interface Models {
  readonly default: Model;
  /** Whether there is none but the demo model. */
  readonly isDemo: boolean;
  /** The model of this name, the default without one. @throws Error naming the models there are */
  get(name: unknown): Model;
  /** The model that `chat` belongs to; the default for a stranger. */
  of(chat: unknown): Model;
}

/** `script`: what the demo model says, where a graph has one of its own. */
export function createModels(settings: readonly ModelSettings[], script?: DemoScript): Models {
  const models: Model[] = settings.map(toModel);
  const first = models[0] ?? demo(script);
  const byName = new Map([first, ...models].map((model) => [model.name, model]));
  return {
    default: first,
    isDemo: models.length === 0,
    get(name) {
      if (name === undefined || name === null || name === "") return first;
      const model = byName.get(String(name));
      if (model) return model;
      throw new Error(
        `There is no model ${JSON.stringify(name)}; there is ${[...byName.keys()].join(", ")}.`,
      );
    },
    of: (chat) => [...byName.values()].find((model) => model.chat === chat) ?? first,
  };
}

function demo(script: DemoScript | undefined): Model {
  return { name: "demo", chat: new DemoModel(script), vision: false, maxRetries: 0, contextTokens: 128_000 };
}

function toModel(settings: ModelSettings): Model {
  const timeoutMs = settings.timeout_seconds * 1000;
  const chat = createChatOpenAI({
    // `streaming` stays unset: with it LangChain counts tokens by tables that it fetches from the network.
    model: settings.model ?? settings.name,
    // Endpoints of one's own often want no key, but the client wants a text.
    apiKey: settings.apiKey ?? "none",
    timeout: timeoutMs,
    maxRetries: settings.max_retries,
    configuration: { baseURL: settings.base_url, fetch: createIdleFetch(timeoutMs) },
  });
  return {
    name: settings.name,
    chat,
    vision: settings.vision,
    maxRetries: settings.max_retries,
    contextTokens: settings.context_tokens,
  };
}
