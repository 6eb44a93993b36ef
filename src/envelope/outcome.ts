// What a graph has made of its state, from the state that it began with and the updates of its nodes: the messages and
// files that it has added, what its models have used, and the shape of the state.
import { createHash } from "node:crypto";
import { type Fields, isFields } from "../events/fields.ts";
import { addUsage } from "../events/model-call.ts";

export interface Result {
  readonly messages: readonly unknown[];
  readonly files: { readonly added: readonly string[]; readonly changed: readonly string[] };
  readonly usage: Fields;
}

export interface Outcome {
  /** The state before its first step: what is in it is not the graph's own work. */
  begin(state: unknown): void;
  /** What a node has returned: an object, or a list of them. */
  add(update: unknown): void;
  /** What a model below it has used. */
  use(usage: Fields): void;
  result(): Result;
  /** A JSON schema of the state, as far as it was seen. */
  shape(): Fields;
}

export function createOutcome(): Outcome {
  const types = new Map<string, string>();
  const known = new Set<string>();
  const files = new Map<string, string>();
  const added = new Set<string>();
  const changed = new Set<string>();
  /** By id; a message without one is its own. */
  const messages = new Map<unknown, unknown>();
  let usage: Fields = {};

  const note = (state: Fields) => {
    for (const [channel, value] of Object.entries(state)) {
      if (value !== null && channel !== "__interrupt__") types.set(channel, toType(value));
    }
  };

  return {
    begin(state) {
      if (!isFields(state)) return;
      note(state);
      for (const message of toMessages(state)) if (typeof message.id === "string") known.add(message.id);
      for (const [path, digest] of toFiles(state)) files.set(path, digest);
    },
    add(update) {
      for (const part of [update].flat().filter(isFields)) {
        note(part);
        for (const message of toMessages(part)) {
          const { id } = message;
          if (message.type === "remove") messages.delete(id);
          else if (typeof id !== "string") messages.set(message, message);
          else if (!known.has(id)) messages.set(id, message);
        }
        for (const [path, digest] of toFiles(part)) {
          const before = files.get(path);
          files.set(path, digest);
          if (before === undefined) added.add(path);
          else if (before !== digest && !added.has(path)) changed.add(path);
        }
      }
    },
    use(counts) {
      usage = addUsage(usage, counts);
    },
    result: () => ({
      messages: [...messages.values()],
      files: { added: [...added], changed: [...changed] },
      usage,
    }),
    shape: () => ({
      type: "object",
      properties: Object.fromEntries(Array.from(types, ([channel, type]) => [channel, { type }])),
    }),
  };
}

const toMessages = ({ messages }: Fields): Fields[] =>
  messages === undefined ? [] : [messages].flat().filter(isFields);

/** Paths with a digest of their content: `files` by path, as DeepAgents keeps them, and `artifacts`, a list of paths. */
function toFiles({ files, artifacts }: Fields): [string, string][] {
  const byPath = isFields(files) ? Object.entries(files) : [];
  const paths = [files, artifacts].flat().filter((path) => typeof path === "string");
  return [
    // Null: it was deleted.
    ...byPath.filter(([, content]) => content !== null).map(toDigested),
    ...paths.map((path): [string, string] => [path, ""]),
  ];
}

const toDigested = ([path, content]: [string, unknown]): [string, string] => [
  path,
  createHash("sha1").update(JSON.stringify(content)).digest("base64"),
];

const toType = (value: unknown) => (Array.isArray(value) ? "array" : typeof value);
