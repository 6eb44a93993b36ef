// ChatOpenAI for all endpoints that call themselves compatible: what LangChain takes for granted of OpenAI's own, and
// what it drops on the way, is put right here, so that the rest of the agent can rely on it. A reply has an id of its
// own, says why it ended, and has arrived whole; one that has not is a connection that broke off.
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk, ChatResult } from "@langchain/core/outputs";
import {
  ChatOpenAI,
  ChatOpenAICompletions,
  type ChatOpenAIFields,
  ChatOpenAIResponses,
} from "@langchain/openai";

export function createChatOpenAI(fields: ChatOpenAIFields): ChatOpenAI {
  // Not a subclass of ChatOpenAI itself: binding tools makes a plain one again, from these fields.
  return new ChatOpenAI({
    ...fields,
    completions: new Completions(fields),
    responses: new Responses(fields),
  });
}

/** LangChain passes `previous_response_id` on, and has no word for a conversation. */
class Responses extends ChatOpenAIResponses {
  override invocationParams(options?: this["ParsedCallOptions"] & { readonly conversation?: string }) {
    const { conversation } = options ?? {};
    return { ...super.invocationParams(options), ...(conversation === undefined ? {} : { conversation }) };
  }
}

type ConvertDelta = ChatOpenAICompletions["_convertCompletionsDeltaToBaseMessageChunk"];
type ConvertMessage = ChatOpenAICompletions["_convertCompletionsMessageToBaseMessage"];

class Completions extends ChatOpenAICompletions {
  readonly #key: string | undefined;

  constructor(fields: ChatOpenAIFields) {
    super(fields);
    this.#key = typeof fields.apiKey === "string" ? fields.apiKey : undefined;
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    let hasEnded = false;
    try {
      for await (const chunk of super._streamResponseChunks(messages, options, runManager)) {
        const finish_reason: unknown = chunk.generationInfo?.finish_reason;
        // LangChain keeps it beside the message, and drops it when a reply that was asked for as a whole is streamed
        // all the same (which a `messages` stream makes happen): half an answer would then look like a whole one.
        // Once: metadata of chunks are added up, and "lengthlength" is no reason.
        if (finish_reason && !hasEnded) {
          hasEnded = true;
          chunk.message.response_metadata = { ...chunk.message.response_metadata, finish_reason };
        }
        yield chunk;
      }
    } catch (error) {
      throw withoutKey(toFailure(error), this.#key);
    }
    // A proxy that gives up closes the stream as if all were said.
    if (!hasEnded) throw brokenOff("The stream ended without a finish_reason.");
  }

  override async _generate(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    const result = await super._generate(messages, options, runManager).catch((error: unknown) => {
      throw withoutKey(toFailure(error), this.#key);
    });
    if (result.generations.length === 0) throw brokenOff("The answer has no choices.");
    return result;
  }

  // Without a role LangChain makes a message of an unknown kind.
  protected override _convertCompletionsDeltaToBaseMessageChunk(
    ...[delta, response, role]: Parameters<ConvertDelta>
  ) {
    const whole = { ...delta, role: delta.role || role || "assistant" };
    const message = super._convertCompletionsDeltaToBaseMessageChunk(whole, response);
    return withOwnId(withRefusal(message, delta.refusal));
  }

  protected override _convertCompletionsMessageToBaseMessage(
    ...[sent, response]: Parameters<ConvertMessage>
  ) {
    const whole = { ...sent, role: sent.role || "assistant" };
    const message = super._convertCompletionsMessageToBaseMessage(whole, response);
    return withOwnId(withRefusal(message, sent.refusal));
  }
}

/**
 * Left without an id, a reply gets one of LangChain's, which no other has. Those of endpoints repeat (Ollama's have
 * three digits), and a message with the id of an earlier one takes its place in the history.
 */
function withOwnId<Message extends BaseMessage>(message: Message): Message {
  message._updateId(undefined);
  return message;
}

/** The words of a refusal stand beside an empty content. LangChain drops them. */
function withRefusal<Message extends BaseMessage>(message: Message, refusal: unknown): Message {
  if (typeof refusal === "string" && refusal !== "") message.additional_kwargs.refusal = refusal;
  return message;
}

function toFailure(error: unknown): unknown {
  // A line that was cut, or a page of a proxy in the place of an answer.
  if (error instanceof SyntaxError) return brokenOff(error.message);
  // What an endpoint reports in the middle of a stream comes without the status that it would have had before it.
  if (isReported(error) && error.status === undefined) error.status = toStatus(error);
  return error;
}

/** Some endpoints repeat the key that they refuse, and errors are logged. A short one is no secret, as "none" is not. */
function withoutKey(error: unknown, key = ""): unknown {
  if (key.length < 8) return error;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    cause.message = cause.message.replaceAll(key, "[key]");
    cause.stack = cause.stack?.replaceAll(key, "[key]");
  }
  return error;
}

/** An error of the OpenAI client that holds what the endpoint said. */
interface Reported {
  readonly error: object;
  status: number | undefined;
  readonly code?: unknown;
  readonly type?: unknown;
}

function isReported(error: unknown): error is Reported {
  return error instanceof Error && "status" in error && "error" in error && error.error !== undefined;
}

function toStatus({ code, type }: Reported): number {
  const status = Number(code);
  if (status >= 400 && status < 600) return status;
  return type === "invalid_request_error" ? 400 : 500;
}

/** As fetch reports it. */
function brokenOff(reason: string): TypeError {
  return new TypeError("terminated", { cause: new Error(reason) });
}
