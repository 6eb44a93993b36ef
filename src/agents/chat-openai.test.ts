import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, test } from "vitest";
import { collect } from "../../test/helpers/sdk.ts";
import { createChatOpenAI } from "./chat-openai.ts";

const respond =
  (body: string, type: string, status = 200) =>
  async () =>
    new Response(body, { status, headers: { "content-type": type } });

const KEY = "a-key-of-no-known-form";

/** The reply to a request that is answered with these events, word by word what the endpoint sends. */
async function streamed(...events: (object | string)[]): Promise<BaseMessage> {
  const body = events.map(
    (event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`,
  );
  return read(respond(body.join(""), "text/event-stream"));
}

async function read(fetch: typeof globalThis.fetch): Promise<BaseMessage> {
  const chunks = await collect(await model(fetch).stream("Hello."));
  return chunks.reduce((left, right) => left.concat(right));
}

/** The reply to a request that is answered as a whole. */
const whole = (answer: object) =>
  model(respond(JSON.stringify({ id: "chatcmpl-1", ...answer }), "application/json")).invoke("Hello.");

function model(fetch: typeof globalThis.fetch) {
  const chat = createChatOpenAI({ model: "m", apiKey: KEY, configuration: { fetch } });
  return chat.withConfig({ maxRetries: 0 } as object);
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "chatcmpl-1",
  choices: [{ index: 0, delta, finish_reason }],
});
const HALF = chunk({ role: "assistant", content: "Half an" });
const END = chunk({}, "stop");

describe("a reply without a role is the assistant's", () => {
  test("when it is streamed", async () => {
    const reply = await streamed(chunk({ content: "All " }), chunk({ content: "well." }), END);
    expect(AIMessageChunk.isInstance(reply)).toBe(true);
    expect(reply.text).toBe("All well.");
  });

  test("when it is whole", async () => {
    const tool_calls = [{ id: "a", type: "function", function: { name: "act", arguments: "{}" } }];
    const reply = await whole({ choices: [{ index: 0, message: { content: null, tool_calls } }] });
    expect(reply).toMatchObject({ type: "ai", tool_calls: [{ name: "act", args: {} }] });
  });
});

describe("the words of a refusal are kept", () => {
  test("when they are streamed", async () => {
    const parts = ["I cannot ", "help."].map((refusal) =>
      chunk({ role: "assistant", content: null, refusal }),
    );
    expect((await streamed(...parts, END)).additional_kwargs).toMatchObject({ refusal: "I cannot help." });
  });

  test("when they are whole", async () => {
    const message = { role: "assistant", content: null, refusal: "I cannot help." };
    expect((await whole({ choices: [{ index: 0, message }] })).additional_kwargs).toMatchObject({
      refusal: "I cannot help.",
    });
  });
});

describe("a reply that has not arrived whole is a connection that broke off", () => {
  const brokenOff = expect.objectContaining({ name: "TypeError", message: "terminated" });

  test.each<[string, (object | string)[]]>([
    ["a stream that ends in the middle", [HALF]],
    ["a stream that ends in the middle, in good form", [HALF, "[DONE]"]],
    ["a stream that ends within a line", [HALF, '{"id":"chatcmpl-1","choi']],
    ["a stream that says nothing", ["[DONE]"]],
    ["a stream without choices", [{ id: "chatcmpl-1", choices: [] }, "[DONE]"]],
  ])("%s", async (_what, events) => {
    await expect(streamed(...events)).rejects.toEqual(brokenOff);
  });

  test("a page in the place of an answer", async () => {
    const page = respond("<html>Sign in</html>", "text/html");
    await expect(read(page)).rejects.toEqual(brokenOff);
    await expect(model(page).invoke("Hello.")).rejects.toEqual(brokenOff);
    await expect(model(respond("<html>", "application/json")).invoke("Hello.")).rejects.toEqual(brokenOff);
  });

  test("an answer without choices", async () => {
    await expect(whole({ choices: [] })).rejects.toEqual(brokenOff);
  });
});

test.each([
  [{ message: "busy", code: 503 }, 503],
  [{ message: "slow down", code: "429" }, 429],
  [{ message: "no such tool", type: "invalid_request_error" }, 400],
  [{ message: "oops", code: "server_error" }, 500],
])("an error in the middle of a stream, %j, has the status %i", async (error, status) => {
  await expect(streamed(HALF, { error })).rejects.toMatchObject({ status, message: error.message });
});

test("a key that the endpoint repeats is in no error's message or stack", async () => {
  const said = JSON.stringify({ error: { message: `Invalid key ${KEY}.` } });
  const refused = model(respond(said, "application/json", 401));
  const attempts = [refused.invoke("Hello."), refused.stream("Hello."), streamed(HALF, said)];
  for (const attempt of attempts) {
    const error = await attempt.then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error?.message).toContain("Invalid key [key].");
    expect(error?.stack).not.toContain(KEY);
  }
});

test("a conversation that the provider keeps is named to the Responses API, and so is a response to go on from", async () => {
  const asked: { url: string; conversation?: string; previous_response_id?: string }[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    asked.push({ url: new URL(String(url)).pathname, ...JSON.parse(String(init?.body)) });
    const content = [{ type: "output_text", text: "Hi.", annotations: [] }];
    const output = [{ type: "message", id: "msg_1", role: "assistant", status: "completed", content }];
    return Response.json({ id: "resp_2", object: "response", status: "completed", model: "m", output });
  };
  for (const options of [{ conversation: "conv_1", include: [] }, { previous_response_id: "resp_1" }]) {
    const reply = await model(fetch).invoke("Hello.", options as object);
    expect([reply.text, reply.response_metadata.id]).toEqual(["Hi.", "resp_2"]);
  }
  expect(asked).toMatchObject([
    { url: "/v1/responses", conversation: "conv_1" },
    { url: "/v1/responses", previous_response_id: "resp_1" },
  ]);
});
