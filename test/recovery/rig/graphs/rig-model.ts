// The scripted endpoint as a chat model, and what a node can be told to do instead of asking it.
import type { BaseMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { readDirectives } from "../reply.ts";

export const model = new ChatOpenAI({
  model: "rig",
  apiKey: "rig",
  // A blocked event loop finds its connections closed by the other side.
  maxRetries: 3,
  configuration: { baseURL: process.env.RIG_MODEL_URL },
});

/** Deeds that a graph's author might do to the server. */
export function misbehave(messages: readonly BaseMessage[]): void {
  switch (readDirectives(messages.at(-1)?.text ?? "").deed) {
    case "die":
      process.kill(process.pid, "SIGKILL");
      break;
    case "block": {
      const until = performance.now() + Number(process.env.RIG_BLOCK_MS);
      while (performance.now() < until);
      break;
    }
    case "throw":
      throw { not: "an error" };
  }
}
