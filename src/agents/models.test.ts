import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, test } from "vitest";
import { modelSchema } from "../config/file.ts";
import { DemoModel } from "./demo-model.ts";
import { createModels } from "./models.ts";

const settings = [
  {
    ...modelSchema.parse({ name: "large", model: "vendor/large-1", context_tokens: 200_000 }),
    apiKey: "key",
  },
  modelSchema.parse({ name: "small", vision: false, base_url: "http://127.0.0.1:9/v1", max_retries: 0 }),
];

describe("the models", () => {
  test("are those of the settings, the first one the default", () => {
    const models = createModels(settings);
    expect(models.default.name).toBe("large");
    expect(models.get(undefined)).toBe(models.default);
    expect(models.get("small")).toMatchObject({ vision: false, maxRetries: 0, contextTokens: 128_000 });
  });

  test("are called by the endpoint's name for them, without the streaming flag", () => {
    const { chat } = createModels(settings).get("large");
    expect(chat).toBeInstanceOf(ChatOpenAI);
    expect(chat).toMatchObject({ model: "vendor/large-1", streaming: false });
  });

  test("need no key for an endpoint that wants none", () => {
    expect(createModels(settings).get("small").chat).toBeInstanceOf(ChatOpenAI);
  });

  test.each(["huge", 7, {}])("that are not there are refused by name: %j", (name) => {
    expect(() => createModels(settings).get(name)).toThrow(/^There is no model .*; there is large, small\.$/);
  });

  test("are found again by the chat model", () => {
    const models = createModels(settings);
    expect(models.of(models.get("small").chat).name).toBe("small");
    expect(models.of({}).name).toBe("large");
  });
});

test("without settings the demo model answers", () => {
  expect(createModels([]).default).toMatchObject({
    name: "demo",
    chat: expect.any(DemoModel),
    vision: false,
  });
});
