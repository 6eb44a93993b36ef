// The lead agent on the real @langchain/openai, against a scripted endpoint over HTTP: what only the wire shows.
import { randomUUID } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ThreadState } from "#kit";
import {
  fail,
  isAgentTurn,
  type ModelReply,
  say,
  startModelEndpoint,
} from "../../test/helpers/model-endpoint.ts";
import { temporaryFiles } from "../../test/helpers/temporary-files.ts";
import { createTools } from "../../tools/index.ts";
import { fileSchema, modelSchema } from "../config/file.ts";
import { createSandboxes } from "../sandbox/sandboxes.ts";
import { createLead } from "./create-lead.ts";
import { createModels } from "./models.ts";

/** A lead whose model answers `replies` in turn; the modes of the stream decide how LangChain asks. */
async function createWiredLead(...replies: ModelReply[]) {
  const endpoint = await startModelEndpoint();
  onTestFinished(() => endpoint.close());
  let turns = 0;
  endpoint.script((request) =>
    isAgentTurn(request) ? (replies[turns++] ?? say("Too many calls.")) : say("A title"),
  );
  const files = await temporaryFiles();
  const sandboxes = createSandboxes({ provider: "virtual", dataDir: files.dataDir, files });
  onTestFinished(() => sandboxes.close());
  const graph = createLead({
    files,
    sandboxes,
    models: createModels([
      { ...modelSchema.parse({ name: "wired", base_url: endpoint.url }), apiKey: "sk-test" },
    ]),
    tools: createTools({ files, sandboxes }),
    settings: { ...fileSchema.parse({}), debugState: false },
    middlewares: { modelErrors: { maxRetries: () => 2, wait: async () => undefined } },
  });
  graph.checkpointer = new MemorySaver();
  const config = { configurable: { thread_id: randomUUID() } };
  return {
    files,
    threadId: config.configurable.thread_id,
    turns: () => endpoint.requests.filter(isAgentTurn),
    turn: async (streamMode: "messages" | "values") => {
      const stream = await graph.stream({ messages: [new HumanMessage("Go.")] }, { ...config, streamMode });
      for await (const _event of stream);
      return (await graph.getState(config)).values as unknown as ThreadState;
    },
  };
}

const cutOff = (content: string): ModelReply => ({ content, finishReason: "length" }) as ModelReply;
const numbered = (id: string, content: string): ModelReply => ({ content, id }) as ModelReply;
const cutCall = (args: string): ModelReply =>
  ({ toolCalls: [{ name: "bash", arguments: args }], finishReason: "length" }) as ModelReply;

describe.each(["messages", "values"] as const)("on a run that streams %s", (streamMode) => {
  test("an answer cut off at the length limit is asked for again, and kept whole", async () => {
    const lead = await createWiredLead(cutOff("The first half"), say("The whole."));
    expect((await lead.turn(streamMode)).messages.at(-1)?.text).toBe("The whole.");
    expect(JSON.stringify(lead.turns().at(-1)?.messages)).toContain("cut off at its length limit");
  });

  test("a command cut off at the length limit is not run", async () => {
    const lead = await createWiredLead(
      cutCall('{"command": "echo ran > /mnt/user-data/workspace/ran'),
      say("Sorry."),
    );
    const { messages, sandbox } = await lead.turn(streamMode);
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai"]);
    expect(sandbox).toBeNull();
  });

  test("a whole answer stands after one call, and says why it ended", async () => {
    const lead = await createWiredLead(say("Done."));
    const { messages, title } = await lead.turn(streamMode);
    expect(messages.at(-1)?.response_metadata).toMatchObject({ finish_reason: "stop" });
    expect(lead.turns()).toHaveLength(1);
    expect(title).toBe("A title");
  });

  test("replies to which the endpoint gives the same id stand beside each other", async () => {
    const lead = await createWiredLead(numbered("chatcmpl-7", "One."), numbered("chatcmpl-7", "Two."));
    await lead.turn(streamMode);
    const { messages } = await lead.turn(streamMode);
    expect(messages.map(({ text }) => text)).toEqual(["Go.", "One.", "Go.", "Two."]);
  });

  test("429 and 500 are followed by another call, 401 by the reason", async () => {
    const lead = await createWiredLead(fail(429, "slow down"), fail(500, "oops"), say("Done."));
    expect((await lead.turn(streamMode)).messages.at(-1)?.text).toBe("Done.");
    expect(lead.turns()).toHaveLength(3);
    const refused = await createWiredLead(fail(401, "Incorrect API key provided: sk-test"));
    await expect(refused.turn(streamMode)).rejects.toThrow("The model endpoint refused the API key (401).");
    expect(refused.turns()).toHaveLength(1);
  });
});
