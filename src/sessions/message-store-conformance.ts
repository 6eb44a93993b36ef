// What every message store has to do, as checks for anybody's own: no test framework is needed, only a failed assertion
// throws. docs/sessions.md shows how to run them.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { type ChatMessageStore, toStoredMessage } from "../kit/chat-message-store.ts";

/** Opens the store of a thread; each call makes a new instance. */
export type OpenMessageStore = (threadId: string) => ChatMessageStore | Promise<ChatMessageStore>;

export interface MessageStoreCase {
  readonly name: string;
  /** @throws AssertionError when the store does not do it */
  check(open: OpenMessageStore): Promise<void>;
}

/** A turn with everything that a message can have. */
const turn = (): BaseMessage[] => [
  new SystemMessage({ id: "s", content: "Be brief." }),
  new HumanMessage({
    id: "h",
    name: "ann",
    content: [
      { type: "text", text: 'Look: 🧵 \0 \ud800 "\\ \u2028', annotations: [{ type: "mark", from: 0 }] },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
    ],
    additional_kwargs: {
      created_at: "2026-01-02T03:04:05.678Z",
      odd: { lc: 1, type: "constructor", id: ["langchain_core", "messages", "SystemMessage"], kwargs: {} },
    },
  }),
  new AIMessage({
    id: "a",
    content: [
      { type: "text", text: "See ", annotations: [{ type: "url_citation", url: "https://a.example" }] },
    ],
    tool_calls: [
      { id: "call", name: "look", args: { atPlace: { someKey: [1, null, "x"] } }, type: "tool_call" },
    ],
    invalid_tool_calls: [{ id: "bad", name: "look", args: "{", error: "cut", type: "invalid_tool_call" }],
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    response_metadata: { model_name: "m", created_at: 1_767_323_045 },
  }),
  new ToolMessage({
    id: "t",
    content: "nothing there",
    tool_call_id: "call",
    name: "look",
    status: "error",
    artifact: { rows: [1, 2] },
  }),
  new ChatMessage({ id: "c", role: "critic", content: "Hm." }),
  new AIMessage("without an id"),
];

const plain = (messages: readonly BaseMessage[]) => messages.map(toStoredMessage);
const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);
const numbered = (count: number, name: string) =>
  Array.from(
    { length: count },
    (_, index) => new HumanMessage({ id: `${name}-${index}`, content: `${name} ${index}` }),
  );

async function same(store: ChatMessageStore, expected: readonly BaseMessage[]): Promise<void> {
  const listed = await store.list_messages();
  assert.deepEqual(plain(listed), plain(expected));
  assert.deepEqual(
    listed.map((message) => message.constructor.name),
    expected.map((message) => message.constructor.name),
  );
}

export const MESSAGE_STORE_CASES: readonly MessageStoreCase[] = [
  {
    name: "a thread that nobody has written to has no messages",
    async check(open) {
      const store = await open(randomUUID());
      assert.deepEqual(await store.list_messages(), []);
      await store.add_messages([]);
      assert.deepEqual(await store.list_messages(), []);
      assert.deepEqual((await store.serialize_state()).messages, []);
    },
  },
  {
    name: "messages come back exactly as they were, in order: role, parts, tool calls, tool results, timestamps, annotations",
    async check(open) {
      const thread = randomUUID();
      const store = await open(thread);
      await store.add_messages(turn());
      await store.add_messages([new HumanMessage({ id: "later", content: "later" })]);
      const expected = [...turn(), new HumanMessage({ id: "later", content: "later" })];
      await same(store, expected);
      await same(await open(thread), expected);
    },
  },
  {
    name: "threads have nothing of each other, however alike their ids are",
    async check(open) {
      const thread = randomUUID();
      const ids = [
        thread,
        `${thread}:`,
        `${thread}*`,
        `${thread}/${thread}`,
        `${thread}é}`,
        `${thread}:list`,
      ];
      for (const id of ids)
        await (await open(id)).add_messages([new HumanMessage({ id: "same", content: id })]);
      for (const id of ids) assert.deepEqual(texts(await (await open(id)).list_messages()), [id]);
    },
  },
  {
    name: "of several that add at once nothing is lost, and what each adds stays together",
    async check(open) {
      const thread = randomUUID();
      const writers = ["a", "b", "c", "d", "e"];
      await Promise.all(
        writers.map(async (writer) => {
          const store = await open(thread);
          for (const round of [0, 1, 2]) await store.add_messages(numbered(3, `${writer}${round}`));
        }),
      );
      const listed = texts(await (await open(thread)).list_messages());
      assert.equal(listed.length, writers.length * 9);
      for (const writer of writers) {
        const places = [0, 1, 2].map((round) => listed.indexOf(`${writer}${round} 0`));
        assert.deepEqual(
          places,
          places.toSorted((a, b) => a - b),
        );
        for (const [round, place] of places.entries()) {
          assert.deepEqual(listed.slice(place, place + 3), texts(numbered(3, `${writer}${round}`)));
        }
      }
    },
  },
  {
    name: "a message whose id is there already is not added again; one without an id is",
    async check(open) {
      const thread = randomUUID();
      const batch = [...numbered(2, "m"), new HumanMessage("no id")];
      await (await open(thread)).add_messages(batch);
      await (await open(thread)).add_messages([...batch, ...numbered(3, "m")]);
      assert.deepEqual(texts(await (await open(thread)).list_messages()), [
        "m 0",
        "m 1",
        "no id",
        "no id",
        "m 2",
      ]);
    },
  },
  {
    name: "what was given and what was got is the caller's own",
    async check(open) {
      const store = await open(randomUUID());
      const given = new HumanMessage({ id: "h", content: [{ type: "text", text: "before" }] });
      await store.add_messages([given]);
      given.content = "changed";
      const [got] = await store.list_messages();
      if (got) got.content = "changed";
      assert.deepEqual(texts(await store.list_messages()), ["before"]);
    },
  },
  {
    name: "its state is JSON, and another thread's store goes on from it: no tool call and no result is missing",
    async check(open) {
      const store = await open(randomUUID());
      await store.add_messages(turn());
      const state = await store.serialize_state();
      const text = JSON.stringify(state);
      assert.deepEqual(JSON.parse(text), state);
      const other = await open(randomUUID());
      await other.add_messages(numbered(2, "gone"));
      await other.deserialize_state(JSON.parse(text));
      await same(other, turn());
      await other.add_messages([new HumanMessage({ id: "next", content: "next" }), ...turn().slice(0, 4)]);
      await same(other, [...turn(), new HumanMessage({ id: "next", content: "next" })]);
      await same(store, turn());
    },
  },
  {
    name: "a broken state, or one of a form that is not known, is refused and changes nothing",
    async check(open) {
      const store = await open(randomUUID());
      await store.add_messages(turn());
      const broken = [
        null,
        [],
        {},
        { messages: {} },
        { version: 2, messages: [] },
        { version: 1, messages: [{}] },
        { version: 1, messages: [{ type: "human", data: {} }] },
        { version: 1, messages: [{ type: "tool", data: { content: "x" } }] },
        {
          version: 1,
          messages: [toStoredMessage(new HumanMessage("fine")), { type: "remove", data: { content: "" } }],
        },
      ];
      for (const state of broken)
        await assert.rejects(async () => store.deserialize_state(state), JSON.stringify(state));
      await same(store, turn());
    },
  },
  {
    name: "a batch with something that is no message to be kept is refused as a whole",
    async check(open) {
      const store = await open(randomUUID());
      const batch = [...numbered(1, "m"), new RemoveMessage({ id: "m-0" })];
      await assert.rejects(async () => store.add_messages(batch));
      assert.deepEqual(await store.list_messages(), []);
    },
  },
  {
    name: "a thousand messages keep their order",
    async check(open) {
      const thread = randomUUID();
      await (await open(thread)).add_messages(numbered(1_000, "m"));
      await (await open(thread)).add_messages(numbered(3, "n"));
      assert.deepEqual(
        texts(await (await open(thread)).list_messages()),
        texts([...numbered(1_000, "m"), ...numbered(3, "n")]),
      );
    },
  },
];
