// ChatOpenAI whose streamed replies say why they ended. LangChain keeps `finish_reason` beside the message, and drops
// it when a reply that was asked for as a whole is streamed all the same (which a `messages` stream makes happen): half
// an answer, cut off at the length limit, would then look like a whole one.
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { ChatOpenAI, ChatOpenAICompletions, type ChatOpenAIFields } from "@langchain/openai";

export function createChatOpenAI(fields: ChatOpenAIFields): ChatOpenAI {
  // Not a subclass of ChatOpenAI itself: binding tools makes a plain one again, from these fields.
  return new ChatOpenAI({ ...fields, completions: new Completions(fields) });
}

class Completions extends ChatOpenAICompletions {
  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    let isTold = false;
    for await (const chunk of super._streamResponseChunks(messages, options, runManager)) {
      const finish_reason: unknown = chunk.generationInfo?.finish_reason;
      // Once: metadata of chunks are added up, and "lengthlength" is no reason.
      if (finish_reason && !isTold) {
        isTold = true;
        chunk.message.response_metadata = { ...chunk.message.response_metadata, finish_reason };
      }
      yield chunk;
    }
  }
}
