import { expect, it } from "vitest";
import type { FollowedEvent } from "../events/follow.ts";
import { type EventSelection, selectEvents } from "./select-events.ts";

const NAMES = [
  "metadata",
  "checkpoints",
  "values",
  "messages",
  "messages|say:1",
  "messages/partial",
  "updates|child:2",
  "messages|child:2|talk:3",
  "tools|child:2|talk:3",
  "values|child:2|deep:4",
  "error",
];

async function select(selection: EventSelection): Promise<string[]> {
  async function* pages(): AsyncGenerator<FollowedEvent[]> {
    for (const [seq, event] of NAMES.entries()) yield [{ seq, event, data: "{}" }];
  }
  const selected: string[] = [];
  for await (const page of selectEvents(pages(), selection)) {
    for (const { seq, event } of page) {
      expect(event).toBe(NAMES[seq ?? -1]);
      selected.push(event);
    }
  }
  return selected;
}

it.each<[EventSelection, string[]]>([
  [{}, NAMES],
  [{ modes: ["updates"] }, ["metadata", "updates|child:2", "error"]],
  [{ modes: ["values"] }, ["metadata", "checkpoints", "values", "values|child:2|deep:4", "error"]],
  [{ modes: ["messages"] }, ["metadata", "messages/partial", "error"]],
  [{ modes: ["messages-tuple"], namespaces: [""] }, ["metadata", "messages", "messages|say:1", "error"]],
  [
    { namespaces: ["child:2"] },
    ["metadata", "updates|child:2", "messages|child:2|talk:3", "tools|child:2|talk:3", "error"],
  ],
  [{ namespaces: ["child:2|deep:4"] }, ["metadata", "values|child:2|deep:4", "error"]],
  [{ namespaces: ["of another run"] }, ["metadata", "error"]],
])("%j gives %j", async (selection, wanted) => {
  expect(await select(selection)).toEqual(wanted);
});
