// Research on an OpenAI-compatible endpoint over real HTTP, whose answers are as such endpoints' often are.

import { HumanMessage } from "@langchain/core/messages";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fail, type ModelRequest, say, startModelEndpoint } from "../../../test/helpers/model-endpoint.ts";
import { createTestResearch } from "../../../test/helpers/test-research.ts";
import { modelSchema } from "../../config/file.ts";
import { createModels } from "../models.ts";
import { demoResearch } from "./demo-research.ts";

let endpoint: Awaited<ReturnType<typeof startModelEndpoint>>;
beforeAll(async () => {
  endpoint = await startModelEndpoint();
});
afterAll(() => endpoint.close());

const prompt = ({ messages }: ModelRequest) =>
  String(messages.find(({ content }) => String(content).startsWith("<step>"))?.content);
const demo = (request: ModelRequest) => demoResearch([new HumanMessage(prompt(request))]) ?? "";
const research = () =>
  createTestResearch({
    models: createModels([modelSchema.parse({ name: "any", base_url: endpoint.url, max_retries: 0 })]),
  });

test("answers in fences, after thoughts, and of the second try are as good as any", async () => {
  const tried = new Set<string>();
  endpoint.script((request) => {
    const text = demo(request);
    if (prompt(request).startsWith("<step>reply")) return say(text);
    const isFirst = !tried.has(prompt(request));
    tried.add(prompt(request));
    return say(
      isFirst ? "Let me think about it." : `<think>{"a": 1}</think>\nHere:\n\`\`\`json\n${text}\n\`\`\``,
    );
  });
  const { run, conversation } = await research();
  const { tasks, messages } = await run("Why does it rain?");
  expect(tasks?.map(({ status }) => status)).toEqual(["completed", "completed", "completed", "completed"]);
  expect(messages.at(-1)?.text).toContain("4 tasks are done");
  expect((await conversation()).currentHypothesis).toContain("[openalex:W1]");
});

test("an endpoint that fails ends the run with its status", async () => {
  endpoint.script(() => fail(401, "no such key"));
  const { run } = await research();
  await expect(run("Why does it rain?")).rejects.toMatchObject({ status: 401 });
});
