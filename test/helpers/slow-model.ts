// An OpenAI-compatible endpoint that lets a test hold answers back: for servers that are processes of their own.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface SlowModel {
  /** For OPENAI_BASE_URL. */
  readonly url: string;
  /** Texts of all requests, as they came. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** `answer` gets the text of all messages; what it returns may take its time. */
export async function startSlowModel(answer: (text: string) => string | Promise<string>): Promise<SlowModel> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { messages } = JSON.parse(body) as { messages: { content: string | { text: string }[] }[] };
    const text = messages
      .flatMap(({ content }) => (typeof content === "string" ? content : content.map((part) => part.text)))
      .join("\n");
    requests.push(text);
    const content = await answer(text);
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        id: `chatcmpl-${requests.length}`,
        object: "chat.completion",
        created: 0,
        model: "slow",
        choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content } }],
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
