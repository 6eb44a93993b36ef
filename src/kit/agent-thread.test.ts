import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { createAgentThread } from "./agent-thread.ts";
import { toStoredMessage } from "./chat-message-store.ts";
import { createMemoryMessageStores } from "./memory-message-stores.ts";

const open = createMemoryMessageStores();
const turn = [
  new HumanMessage({ id: "h", content: "Look." }),
  new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c", name: "look", args: { at: 1 } }] }),
  new ToolMessage({ id: "t", content: "seen", tool_call_id: "c" }),
];

describe("a thread with a message store", () => {
  it("keeps what is said, and is written and read in the document's form", async () => {
    const thread = createAgentThread({ message_store: open("one") });
    await thread.on_new_messages(turn);
    const state = JSON.parse(JSON.stringify(await thread.serialize()));
    expect(state).toEqual({
      service_thread_id: null,
      chat_message_store_state: { version: 1, messages: turn.map(toStoredMessage) },
    });
    const restored = createAgentThread({ message_store: open("two") });
    await restored.deserialize(state);
    expect(await restored.message_store?.list_messages()).toEqual(turn);
  });

  it("has its messages in memory when it is given neither", async () => {
    const thread = createAgentThread();
    await thread.on_new_messages(turn);
    expect(await thread.message_store?.list_messages()).toEqual(turn);
    expect(await createAgentThread().message_store?.list_messages()).toEqual([]);
  });

  it("takes over a state without messages, and one with parts that are not known", async () => {
    const thread = createAgentThread({ message_store: open("partial") });
    await thread.deserialize({ later: true });
    expect((await thread.serialize()).chat_message_store_state?.messages).toEqual([]);
  });
});

describe("a thread that the provider keeps", () => {
  it("remembers the provider's id and no messages", async () => {
    const kept: string[] = [];
    const thread = createAgentThread({
      service_thread_id: "resp_1",
      onServiceThread: async (id) => void kept.push(id),
    });
    await thread.on_new_messages(turn);
    await thread.move_service_thread("resp_2");
    await thread.move_service_thread("resp_2");
    expect(kept).toEqual(["resp_2"]);
    const state = await thread.serialize();
    expect(state).toEqual({ service_thread_id: "resp_2", chat_message_store_state: null });
    const restored = createAgentThread();
    await restored.deserialize(state);
    expect([restored.service_thread_id, restored.message_store]).toEqual(["resp_2", undefined]);
  });
});

describe("both kinds at once are refused", () => {
  const both = { code: "invalid_request", message: expect.stringContaining("never by both") };
  const service = { service_thread_id: "conv_1", chat_message_store_state: null };
  const stored = { service_thread_id: null, chat_message_store_state: { version: 1, messages: [] } };

  it("when a thread is made", () => {
    expect(() => createAgentThread({ service_thread_id: "conv_1", message_store: open("x") })).toThrow(
      expect.objectContaining(both),
    );
  });

  it("when a thread of the one kind is to take over the other", async () => {
    const ours = createAgentThread({ message_store: open("ours") });
    await ours.on_new_messages(turn);
    await expect(ours.deserialize(service)).rejects.toMatchObject(both);
    await expect(
      ours.deserialize({ ...stored, ...service, ...{ chat_message_store_state: {} } }),
    ).rejects.toMatchObject(both);
    await expect(ours.move_service_thread("conv_1")).rejects.toMatchObject(both);
    expect(await ours.message_store?.list_messages()).toEqual(turn);
    const theirs = createAgentThread({ service_thread_id: "conv_1" });
    await expect(theirs.deserialize(stored)).rejects.toMatchObject(both);
    expect(theirs.service_thread_id).toBe("conv_1");
  });

  it("and a state that is broken says where", async () => {
    const thread = createAgentThread({ message_store: open("broken") });
    for (const state of [
      null,
      "text",
      { service_thread_id: 1 },
      { service_thread_id: "" },
      { chat_message_store_state: 1 },
    ])
      await expect(thread.deserialize(state), JSON.stringify(state)).rejects.toMatchObject({
        code: "invalid_request",
      });
  });

  it.each<[string, object]>([
    ["data.content", { content: ["a", 5] }],
    ["data.content", { content: [null] }],
    ["data.name", { name: 5 }],
    ["data.tool_calls", { tool_calls: "x" }],
    ["data.tool_calls.0", { tool_calls: [5] }],
    ["data.tool_calls.0.name", { tool_calls: [{ args: {}, id: "c" }] }],
    ["data.invalid_tool_calls", { invalid_tool_calls: {} }],
    ["data.additional_kwargs", { additional_kwargs: "x" }],
    ["data.response_metadata", { response_metadata: [] }],
    ["data.usage_metadata", { usage_metadata: 5 }],
  ])("and a message that no run could read is not taken: %s", async (where, broken) => {
    const thread = createAgentThread({ message_store: open("unreadable") });
    const messages = [{ type: "ai", data: { content: "a", ...broken } }];
    await expect(
      thread.deserialize({ service_thread_id: null, chat_message_store_state: { version: 1, messages } }),
    ).rejects.toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining(`messages[0] is broken: ${where}: `),
    });
  });
});
