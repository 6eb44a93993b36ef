import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { type AgentMiddleware, modelRetryMiddleware } from "langchain";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fuseMiddlewares } from "#kit";
import type { ScriptedModel } from "../test/helpers/scripted-model.ts";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createViewImage } from "./view-image.ts";

const PIXEL = "iVBORw0KGgoPIXEL";

/** As the real tool: the image into the state, words into the messages. */
const viewImage = tool(
  ({ image_path }, config) =>
    new Command({
      update: {
        viewed_images: { [image_path]: { base64: PIXEL + image_path, mime_type: "image/png" } },
        messages: [new ToolMessage({ content: `Loaded ${image_path}.`, tool_call_id: config.toolCall.id })],
      },
    }),
  { name: "view_image", description: "Views.", schema: z.object({ image_path: z.string() }) },
);
const other = tool(() => "done", { name: "other", description: "Does.", schema: z.object({}) });

const views = (...paths: string[]) => ({
  tool_calls: paths.map((image_path) => ({ name: "view_image", args: { image_path } })),
});

function createAgent(
  script: ConstructorParameters<typeof ScriptedModel>[0],
  { vision = true, more = [] as AgentMiddleware[] } = {},
) {
  const middleware = [fuseMiddlewares("chain", [...more, createViewImage({ hasVision: () => vision })])];
  return createTestAgent({ middleware, tools: [viewImage, other], script });
}

/** Paths whose image was in each request, as an image part with its bytes. */
const shownIn = ({ requests }: ScriptedModel) =>
  requests.map(({ messages }) =>
    [...JSON.stringify(messages).matchAll(/"url":"data:image\/png;base64,iVBORw0KGgoPIXEL([^"]+)"/g)].map(
      ([, path]) => path,
    ),
  );

describe("a viewed image", () => {
  test("is in the next model call as an image part, once, and cleared", async () => {
    const { turn, model } = createAgent([views("a.png"), "A cat.", "Still a cat."]);
    expect((await turn("What is it?")).viewed_images).toEqual({});
    await turn("Sure?");
    expect(shownIn(model)).toEqual([[], ["a.png"], []]);
  });

  test("comes with all others that were viewed in the same turn", async () => {
    const { turn, model } = createAgent([views("a.png", "b.png"), views("c.png"), "Three."]);
    await turn("Look at them.");
    expect(shownIn(model)).toEqual([[], ["a.png", "b.png"], ["c.png"]]);
  });

  test("never gets into the messages of the state or of the stream", async () => {
    const { stream, state } = createAgent([views("a.png"), "A cat."]);
    expect(JSON.stringify(await stream("What is it?", "messages"))).not.toContain(PIXEL);
    expect(JSON.stringify(await state())).not.toContain(PIXEL);
  });

  test("is shown again when the call that should show it fails and is repeated", async () => {
    const script = [views("a.png"), new Error("503"), "A cat."];
    const retry = modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 0, onFailure: "error" });
    const { turn, model } = createAgent(script, { more: [retry] });
    expect((await turn("What is it?")).messages.at(-1)?.text).toBe("A cat.");
    expect(shownIn(model)).toEqual([[], ["a.png"], ["a.png"]]);
  });

  test.each([400, 413, 415, 422])(
    "that the endpoint refuses with %i is left out, the model is told, and the run goes on",
    async (status) => {
      const refused = Object.assign(new Error("no"), { status });
      const { turn, model } = createAgent([views("a.png"), refused, "I could not see it."]);
      const { messages, viewed_images } = await turn("What is it?");
      expect(messages.at(-1)?.text).toBe("I could not see it.");
      expect(viewed_images).toEqual({});
      expect(shownIn(model)).toEqual([[], ["a.png"], []]);
      expect(model.requests[2]?.messages.at(-1)?.text).toMatch(/^You cannot be shown "a\.png": .* refused/);
    },
  );

  test("waits in the state for the next turn when the run ends before the model saw it", async () => {
    const { turn, model, state } = createAgent([views("a.png"), new Error("503"), "A cat."]);
    await expect(turn("What is it?")).rejects.toThrow("503");
    expect(Object.keys((await state()).viewed_images ?? {})).toEqual(["a.png"]);
    expect((await turn("Well?")).viewed_images).toEqual({});
    expect(shownIn(model)).toEqual([[], ["a.png"], ["a.png"]]);
  });
});

test("a model without vision gets neither images nor the tool, but is told, and the image does not stay", async () => {
  const { turn, model } = createAgent([views("a.png"), "I cannot see."], { vision: false });
  expect((await turn("What is it?")).viewed_images).toEqual({});
  expect(shownIn(model)).toEqual([[], []]);
  expect(model.requests[0]?.tools).toEqual(["other"]);
  expect(model.requests[1]?.messages.at(-1)?.text).toBe(
    'You cannot be shown "a.png": this model reads no images.',
  );
});

test("a model with vision keeps its tools in their order", async () => {
  const { turn, model } = createAgent(["hi"]);
  await turn("hi");
  expect(model.requests[0]?.tools).toEqual(["view_image", "other"]);
});
