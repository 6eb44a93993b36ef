// An OpenAI-compatible endpoint that streams computable replies, and takes note of the effects that tools have.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type { History } from "./history.ts";
import { readDirectives, toReply } from "./reply.ts";

interface Message {
  readonly role: string;
  readonly content: string | null;
}

export interface RigModel {
  /** For OPENAI_BASE_URL and RIG_MODEL_URL. */
  readonly url: string;
  /** Model calls that came in. */
  calls(): number;
  close(): Promise<void>;
}

export async function startModel(history: History): Promise<RigModel> {
  let calls = 0;
  const server = createServer((request, response) => {
    const answer = request.url?.endsWith("/effect") ? takeEffect : complete;
    answer(request, response).catch(() => response.destroy());
  });

  const takeEffect = async (request: IncomingMessage, response: ServerResponse) => {
    const { run, attempt, text } = (await json(request)) as { run: string; attempt: number; text: string };
    history.add({ op: "effect", run, attempt, text });
    response.end("{}");
  };

  const complete = async (request: IncomingMessage, response: ServerResponse) => {
    const { messages, stream } = (await json(request)) as { messages: Message[]; stream?: boolean };
    calls++;
    const past = messages.map((message) => message.content ?? "");
    const question = messages.findLast((message) => message.role === "user")?.content ?? "";
    const { ms, chunks, tool } = readDirectives(question);
    const wantsTool = tool && messages.at(-1)?.role === "user";
    const base = { id: `chatcmpl-${calls}`, created: 0, model: "rig" };
    const text = wantsTool ? "" : toReply(past, question);
    const call = { id: `call_${calls}`, type: "function", function: { name: "effect", arguments: "{}" } };
    if (!stream) {
      await delay(ms);
      const message = { role: "assistant", content: text, ...(wantsTool ? { tool_calls: [call] } : {}) };
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({
          ...base,
          object: "chat.completion",
          choices: [{ index: 0, message, finish_reason: wantsTool ? "tool_calls" : "stop" }],
        }),
      );
      return;
    }
    response.setHeader("content-type", "text/event-stream");
    const send = (delta: object, finish_reason: string | null = null) =>
      response.write(
        `data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`,
      );
    send({ role: "assistant", content: "" });
    if (wantsTool) send({ tool_calls: [{ index: 0, ...call }] });
    const size = Math.ceil(text.length / chunks) || 1;
    for (let from = 0; from < text.length; from += size) {
      await delay(ms / chunks);
      send({ content: text.slice(from, from + size) });
    }
    send({}, wantsTool ? "tool_calls" : "stop");
    response.end("data: [DONE]\n\n");
  };

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the model endpoint has no port");
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    calls: () => calls,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
