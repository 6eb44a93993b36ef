import { AIMessageChunk } from "@langchain/core/messages";
import { describe, expect, test } from "vitest";
import { toWholeTurn } from "./whole-turn.ts";

type Part = { readonly args: string; readonly index?: number; readonly id?: string; readonly name?: string };

/** The calls of a turn that came in these parts, one after the other. */
function callsOf(...parts: Part[]) {
  const chunks = parts.map((part) => {
    return new AIMessageChunk({ content: "", tool_call_chunks: [{ type: "tool_call_chunk", ...part }] });
  });
  const message = toWholeTurn(
    chunks.reduce((whole, chunk) => whole.concat(chunk)),
    [],
  );
  expect(message.invalid_tool_calls).toEqual([]);
  return message.tool_calls?.map(({ name, args }) => [name, args]);
}

describe("calls that arrive in parts are joined", () => {
  const two = [
    ["bash", { command: "ls" }],
    ["bash", { command: "pwd" }],
  ];

  test("by their index", () => {
    expect(
      callsOf(
        { index: 0, id: "a", name: "bash", args: '{"command":' },
        { index: 1, id: "b", name: "bash", args: '{"command":' },
        { index: 0, args: '"ls"}' },
        { index: 1, args: '"pwd"}' },
      ),
    ).toEqual(two);
  });

  test("by their id where they have no index", () => {
    expect(
      callsOf(
        { id: "a", name: "bash", args: '{"command":' },
        { id: "a", args: '"ls"}' },
        { id: "b", name: "bash", args: '{"command": "pwd"}' },
      ),
    ).toEqual(two);
  });

  test("though every part has an id of its own", () => {
    expect(
      callsOf(
        { index: 0, id: "a", name: "bash", args: "" },
        { index: 0, id: "b", args: '{"command":' },
        { index: 0, id: "c", args: '"ls"}' },
      ),
    ).toEqual(two.slice(0, 1));
  });

  test("and those that all have the index 0 are kept apart", () => {
    expect(
      callsOf(
        { index: 0, id: "a", name: "bash", args: '{"command": "ls"}' },
        { index: 0, id: "b", name: "bash", args: '{"command": "pwd"}' },
        { index: 0, id: "c", name: "ls", args: "{}" },
      ),
    ).toEqual([...two, ["ls", {}]]);
  });
});
