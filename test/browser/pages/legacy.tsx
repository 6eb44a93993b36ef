// The chat over `useStream` of @langchain/langgraph-sdk/react.
import type { Message, ToolCallWithResult } from "@langchain/langgraph-sdk";
import { useStream } from "@langchain/langgraph-sdk/react";
import { type ReactNode, useState } from "react";
import { type Chat, ChatPage, keepThread, mount, settings } from "./chat.tsx";

const textOf = ({ content }: Message) => (typeof content === "string" ? content : JSON.stringify(content));

function Page(): ReactNode {
  const [threadId, setThreadId] = useState(settings.get("thread"));
  const stream = useStream<{ messages: Message[] }>({
    apiUrl: settings.get("url") ?? "",
    assistantId: settings.get("assistant") ?? "",
    threadId,
    onThreadId: (id) => {
      keepThread(id);
      setThreadId(id);
    },
    reconnectOnMount: true,
    fetchStateHistory: true,
  });
  const options = { streamSubgraphs: true, streamResumable: true };
  // The hook has it for every state with messages; its types only for those of agents.
  const { toolCalls } = stream as unknown as { toolCalls: ToolCallWithResult[] };
  const chat: Chat = {
    messages: stream.messages.map((message, index) => {
      const before = stream.getMessagesMetadata(message, index)?.firstSeenState?.parent_checkpoint;
      return {
        id: message.id ?? String(index),
        type: message.type,
        text: textOf(message),
        ...(message.type === "human" && before !== undefined
          ? {
              edit: (text: string) =>
                void stream.submit(
                  { messages: [{ type: "human", content: text }] },
                  { ...options, checkpoint: before },
                ),
            }
          : {}),
      };
    }),
    toolCalls: toolCalls.map(
      ({ call, result }) => `${call.name} ${JSON.stringify(call.args)} ${result ? textOf(result) : "…"}`,
    ),
    isLoading: stream.isLoading,
    interrupt: stream.interrupt?.value,
    error: stream.error,
    submit: (text) => void stream.submit({ messages: [{ type: "human", content: text }] }, options),
    resume: (answer) => void stream.submit(undefined, { ...options, command: { resume: answer } }),
    stop: () => void stream.stop(),
  };
  return <ChatPage chat={chat} />;
}

mount(<Page />);
