// The chat over `useStream` of @langchain/react, which speaks the newer thread protocol.
import { useStream } from "@langchain/react";
import { type ReactNode, useEffect } from "react";
import { type Chat, ChatPage, keepThread, mount, settings } from "./chat.tsx";

// Not the current one: a thread that the hook is handed while its first run streams makes it begin anew.
const loadedThread = settings.get("thread");

function Page(): ReactNode {
  const stream = useStream<{ messages: unknown[] }>({
    apiUrl: settings.get("url") ?? "",
    assistantId: settings.get("assistant") ?? "",
    threadId: loadedThread,
    ...(settings.get("transport") === "websocket" ? { transport: "websocket" as const } : {}),
  });
  const { threadId } = stream;
  useEffect(() => keepThread(threadId), [threadId]);
  const branch = (text: string, messageId: string) => {
    void (async () => {
      const history = await stream.client.threads.getHistory<{ messages?: { id?: string }[] }>(
        stream.threadId ?? "",
        { limit: 100 },
      );
      // The newest checkpoint that does not have the message yet.
      const before = history.find(({ values }) => !values.messages?.some(({ id }) => id === messageId));
      await stream.submit({ messages: [{ type: "human", content: text }] }, {
        forkFrom: before?.checkpoint.checkpoint_id ?? undefined,
      } as object);
    })();
  };
  const chat: Chat = {
    messages: stream.messages.map((message, index) => ({
      id: message.id ?? String(index),
      type: message.type,
      text: message.text,
      ...(message.type === "human" && message.id
        ? { edit: (text: string) => branch(text, message.id ?? "") }
        : {}),
    })),
    toolCalls: stream.toolCalls.map(
      ({ name, args, output }) => `${name} ${JSON.stringify(args)} ${JSON.stringify(output ?? "…")}`,
    ),
    isLoading: stream.isLoading,
    interrupt: stream.interrupt?.value,
    error: stream.error,
    submit: (text) => void stream.submit({ messages: [{ type: "human", content: text }] }),
    resume: (answer) => void stream.respond(answer),
    stop: () => void stream.stop(),
  };
  return <ChatPage chat={chat} />;
}

mount(<Page />);
