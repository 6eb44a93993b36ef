// A process: the model that g2 asks, an OpenAI-compatible endpoint that calls the tool and, told its result, says 100
// tokens. The answers are made before they are asked for, so that the endpoint takes as little of the machine as it can.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const WORDS = Array.from({ length: 100 }, (_, i) => (i === 0 ? "t0" : ` t${i}`));
const USAGE = { prompt_tokens: 20, completion_tokens: 100, total_tokens: 120 };
const CALL = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } };
const HEAD = { id: "chatcmpl-bench", created: 1_700_000_000, model: "bench" };

const chunks = (deltas: readonly object[], finish: string) =>
  Buffer.from(
    [
      ...deltas.map((delta) => toChunk([{ index: 0, delta, finish_reason: null }])),
      toChunk([{ index: 0, delta: {}, finish_reason: finish }]),
      toChunk([], { usage: USAGE }),
    ]
      .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
      .join("") + "data: [DONE]\n\n",
  );
const toChunk = (choices: readonly object[], more: object = {}) => ({
  ...HEAD,
  object: "chat.completion.chunk",
  choices,
  ...more,
});
const whole = (message: object, finish: string) =>
  Buffer.from(
    JSON.stringify({
      ...HEAD,
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
      usage: USAGE,
    }),
  );

const ANSWERS = {
  call: {
    streamed: chunks(
      [{ role: "assistant", content: null, tool_calls: [{ index: 0, ...CALL }] }],
      "tool_calls",
    ),
    whole: whole({ content: null, tool_calls: [CALL] }, "tool_calls"),
  },
  say: {
    streamed: chunks([{ role: "assistant", content: "" }, ...WORDS.map((content) => ({ content }))], "stop"),
    whole: whole({ content: WORDS.join("") }, "stop"),
  },
};

function answer(response: ServerResponse, request: { stream?: boolean; messages: { role: string }[] }): void {
  const { streamed, whole } = request.messages.at(-1)?.role === "tool" ? ANSWERS.say : ANSWERS.call;
  response.setHeader("content-type", request.stream ? "text/event-stream" : "application/json");
  response.end(request.stream ? streamed : whole);
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => answer(response, JSON.parse(Buffer.concat(parts).toString())));
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
