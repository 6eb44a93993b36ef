// A chat model that answers from a script, for unit tests: it streams, calls tools, throws, breaks off and sends
// unreadable arguments, and records every request. It never waits and never touches the network.
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import { type AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";

interface ScriptedToolCall {
  readonly name: string;
  readonly args?: unknown;
  /** Arguments exactly as the model wrote them, for text that is not JSON. Wins over `args`. */
  readonly raw?: string;
  /** `call_<n>` by default; `null` leaves it out. */
  readonly id?: string | null;
}

export interface ScriptedReply {
  readonly content?: AIMessageChunk["content"];
  readonly tool_calls?: readonly ScriptedToolCall[];
  /** The whole reply as a provider that does not stream would give it; nothing else of the reply counts then. */
  readonly message?: AIMessage;
  /** "stop", "tool_calls", "length"; follows from the reply by default. */
  readonly finish_reason?: string;
  /** Thrown instead of a reply, or after the content when there is some. */
  readonly error?: Error;
}

interface ScriptedRequest {
  readonly messages: BaseMessage[];
  /** Names of the bound tools, in order. */
  readonly tools: string[];
  readonly options: Record<string, unknown>;
}

type Reply = string | Error | ScriptedReply;
type Script = readonly Reply[] | ((request: ScriptedRequest, index: number) => Reply | Promise<Reply>);

interface Options extends BaseChatModelCallOptions {
  tools?: BindToolsInput[];
}

interface Shared {
  readonly script: Script;
  readonly requests: ScriptedRequest[];
  readonly ids: string;
}

/** `new ScriptedModel(["hello", { tool_calls: [...] }])`; a script that runs out is an error of the test. */
export class ScriptedModel extends BaseChatModel<Options> {
  readonly #shared: Shared;

  /** `ids` starts the ids of its messages; two models on one thread need two. */
  constructor(script: Script, { stream = true, ids = "scripted" } = {}) {
    super({});
    this.disableStreaming = !stream;
    this.#shared = { script, requests: [], ids };
  }

  /** Every request so far, in order. */
  get requests(): readonly ScriptedRequest[] {
    return this.#shared.requests;
  }

  _llmType(): string {
    return "scripted";
  }

  override bindTools(tools: BindToolsInput[], kwargs?: Partial<Options>) {
    return this.withConfig({ ...kwargs, tools });
  }

  async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const reply = await this.#next(messages, options);
    if (reply.message) return { generations: [{ text: reply.message.text, message: reply.message }] };
    const chunks = [...toChunks(reply, this.requests.length - 1, this.#shared.ids)];
    if (reply.error) throw reply.error;
    const whole = chunks.reduce((left, right) => left.concat(right));
    return { generations: [whole] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const reply = await this.#next(messages, options);
    for (const chunk of toChunks(reply, this.requests.length - 1, this.#shared.ids)) {
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
    if (reply.error) throw reply.error;
  }

  async #next(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ScriptedReply> {
    const { tools = [], ...rest } = options;
    const names = tools.map((tool) => convertToOpenAITool(tool as never).function.name);
    const request = { messages: [...messages], tools: names, options: { ...rest } };
    const index = this.requests.length;
    this.#shared.requests.push(request);
    const reply = await next(this.#shared.script, request, index);
    if (reply.error && reply.content === undefined) throw reply.error;
    return reply;
  }
}

async function next(script: Script, request: ScriptedRequest, index: number): Promise<ScriptedReply> {
  const reply = typeof script === "function" ? await script(request, index) : script[index];
  if (reply === undefined)
    throw new Error(`The script has ${script.length} replies; this is call ${index + 1}.`);
  if (typeof reply === "string") return { content: reply };
  return reply instanceof Error ? { error: reply } : reply;
}

function* toChunks(reply: ScriptedReply, index: number, ids: string): Generator<ChatGenerationChunk> {
  const id = `${ids}-${index}`;
  if (reply.message) return yield toChunk(new AIMessageChunk({ id, ...reply.message.lc_kwargs }));
  const content = reply.content ?? "";
  const parts = typeof content === "string" ? content.split(/(?<= )/) : [content];
  for (const part of parts) yield toChunk(new AIMessageChunk({ id, content: part }));
  for (const [position, call] of (reply.tool_calls ?? []).entries()) {
    yield toChunk(
      new AIMessageChunk({
        id,
        content: "",
        tool_call_chunks: [
          {
            name: call.name,
            args: call.raw ?? JSON.stringify(call.args ?? {}),
            id: call.id === null ? undefined : (call.id ?? `call_${index}_${position}`),
            index: position,
            type: "tool_call_chunk",
          },
        ],
      }),
    );
  }
  const finish_reason = reply.finish_reason ?? (reply.tool_calls ? "tool_calls" : "stop");
  const last = new AIMessageChunk({ id, content: "", response_metadata: { finish_reason } });
  yield toChunk(last);
}

function toChunk(message: AIMessageChunk): ChatGenerationChunk {
  return new ChatGenerationChunk({ message, text: message.text });
}
