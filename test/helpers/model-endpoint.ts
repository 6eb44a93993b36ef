// A scripted OpenAI-compatible endpoint over real HTTP, so that the real @langchain/openai is tested: streams, tool
// calls, images, rate limits, failures. aimock speaks the protocol; a test says what to answer.
import { type ChatCompletionRequest, type FixtureResponse, LLMock } from "@copilotkit/aimock";

export type ModelRequest = ChatCompletionRequest;
export type ModelReply = FixtureResponse;

export interface ModelEndpoint {
  /** For OPENAI_BASE_URL. */
  readonly url: string;
  /** Every request that came in, also those that were answered with an error. */
  readonly requests: ModelRequest[];
  /** What to answer from now on. */
  script(answer: (request: ModelRequest, number: number) => ModelReply): void;
  close(): Promise<void>;
}

export async function startModelEndpoint(): Promise<ModelEndpoint> {
  const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 5, logLevel: "silent" });
  const requests: ModelRequest[] = [];
  let answer: (request: ModelRequest, number: number) => ModelReply = () => say("unscripted");
  mock.on({ predicate: () => true }, (request) => {
    requests.push(request);
    return answer(request, requests.length);
  });
  await mock.start();
  return {
    url: `${mock.url}/v1`,
    requests,
    script(next) {
      answer = next;
    },
    close: () => mock.stop(),
  };
}

export const say = (content: string): ModelReply => ({ content });

/** A reply that calls tools; each call gets an id of its own. */
export const call = (...calls: [name: string, args: object][]): ModelReply => ({
  toolCalls: calls.map(([name, args]) => ({ name, arguments: JSON.stringify(args) })),
});

export const fail = (status: number, message: string): ModelReply => ({ error: { message }, status });

/** All text of a request's messages, for looking into what the model was told. */
export const textOf = (request: ModelRequest): string => JSON.stringify(request.messages);

/** Whether the request is for a turn of the agent, which has tools, and not for a title or a summary. */
export const isAgentTurn = (request: ModelRequest): boolean => (request.tools?.length ?? 0) > 0;
