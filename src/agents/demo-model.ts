// The model that answers when no other is configured: a script that plans, looks at an upload, writes a file,
// presents it and answers, so that the whole chain can be seen at work without a key. It knows nothing of the world,
// asks nobody, and does the same for the same conversation.
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { type DemoStep, nextStep } from "./demo-script.ts";

interface DemoOptions extends BaseChatModelCallOptions {
  tools?: BindToolsInput[];
}

/** What it says next, and the tool that it calls. */
export type DemoScript = (messages: readonly BaseMessage[], tools: readonly string[]) => DemoStep;

export class DemoModel extends BaseChatModel<DemoOptions> {
  readonly #script: DemoScript;

  constructor(script: DemoScript = nextStep) {
    super({});
    this.#script = script;
  }

  _llmType(): string {
    return "heddle-demo";
  }

  override bindTools(tools: BindToolsInput[], kwargs?: Partial<DemoOptions>) {
    return this.withConfig({ ...kwargs, tools });
  }

  async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const chunks = [...toChunks(this.#script(messages, toolNames(options)))];
    return { generations: [chunks.reduce((whole, chunk) => whole.concat(chunk))] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const chunk of toChunks(this.#script(messages, toolNames(options)))) {
      options.signal?.throwIfAborted();
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

function toolNames({ tools = [] }: DemoOptions): string[] {
  return tools.map((tool) => convertToOpenAITool(tool as never).function.name);
}

/** Words one by one, then the call in two halves, as a model on a wire would send them. */
function* toChunks({ text, call }: DemoStep): Generator<ChatGenerationChunk> {
  for (const word of text.split(/(?<=\s)(?=\S)/)) yield toChunk(new AIMessageChunk(word));
  if (call) {
    const args = JSON.stringify(call.args);
    const half = Math.ceil(args.length / 2);
    const begin = { name: call.name, id: call.id, args: args.slice(0, half), index: 0 };
    for (const chunk of [begin, { args: args.slice(half), index: 0 }]) {
      yield toChunk(
        new AIMessageChunk({ content: "", tool_call_chunks: [{ ...chunk, type: "tool_call_chunk" }] }),
      );
    }
  }
  const finish_reason = call ? "tool_calls" : "stop";
  yield toChunk(
    new AIMessageChunk({ content: "", response_metadata: { finish_reason, model_name: "demo" } }),
  );
}

function toChunk(message: AIMessageChunk): ChatGenerationChunk {
  return new ChatGenerationChunk({ message, text: message.text });
}
