// What the scripted model answers: a function of all messages before it, so that the state of a thread can be
// computed. A reply that was given to another past than the one it stands behind is seen at once.
import { createHash } from "node:crypto";

/** The text of a turn: `<thread tag>#<number>`, then directives. */
export interface Directives {
  /** `T12#3` of "T12#3 ms=200 tool". */
  readonly turn: string;
  /** How long the model takes. */
  readonly ms: number;
  readonly chunks: number;
  /** Characters that are added to the reply. */
  readonly pad: number;
  readonly tool: boolean;
  /** What the graph's node does instead of asking the model. */
  readonly deed: "die" | "block" | "throw" | undefined;
}

export function readDirectives(text: string): Directives {
  const [turn = "", ...words] = text.split(" ");
  const number = (name: string, otherwise: number) =>
    Number(words.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1) ?? otherwise);
  return {
    turn,
    ms: number("ms", 20),
    chunks: number("chunks", 6),
    pad: number("pad", 0),
    tool: words.includes("tool"),
    deed: (["die", "block", "throw"] as const).find((deed) => words.includes(deed)),
  };
}

/** @param past contents of all messages before the reply, the question last but for a tool's answer */
export function toReply(past: readonly string[], question: string): string {
  const { turn, pad } = readDirectives(question);
  const hash = createHash("sha256").update(past.join("\n")).digest("hex").slice(0, 12);
  return `re ${turn} after ${past.length} ${hash}${pad > 0 ? ` ${"x".repeat(pad)}` : ""}`;
}

export const toEffect = (question: string) => `done ${readDirectives(question).turn}`;

/** Every thread tag that a text names; a tag of another thread is somebody else's data. */
export const tagsIn = (text: string): string[] =>
  [...text.matchAll(/\bT[0-9a-z]+(?=#\d)/g)].map((match) => match[0]);
