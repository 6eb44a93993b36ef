import { expect, it } from "vitest";
import { storableJson } from "./storable-json.ts";

it("puts U+FFFD where jsonb takes no character, and leaves all else as it is", () => {
  const plain = JSON.stringify({ text: 'a "quoted" \\ and \n, an emoji 🧵, é, \\u0000 in words' });
  expect(storableJson(plain)).toBe(plain);
  expect(storableJson(JSON.stringify("a\0b"))).toBe(String.raw`"a\ufffdb"`);
  expect(storableJson(JSON.stringify("\ud83e and \uddf5"))).toBe(String.raw`"\ufffd and \ufffd"`);
  // A backslash, then the letters: not an escape.
  expect(JSON.parse(storableJson(JSON.stringify("\\u0000 \\\0")))).toBe("\\u0000 \\\ufffd");
});
