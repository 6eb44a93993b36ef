// The JSON in a model's answer. Models put it between fences, think aloud before it, leave commas and quotes out.
import { jsonrepair } from "jsonrepair";

/** @throws Error when there is no object in it */
export function readAnswer(text: string): unknown {
  const spoken = text.replace(/<think(?:ing)?>[\s\S]*?<\/think(?:ing)?>/g, "");
  const fenced = [...spoken.matchAll(/```(?:json)?[ \t]*\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
  const start = spoken.indexOf("{");
  const end = spoken.lastIndexOf("}");
  // Cut off, its end is missing; mending closes it, and the schema says whether enough is there.
  const bare =
    start === -1 ? [] : [spoken.slice(start, end > start ? end + 1 : undefined), spoken.slice(start)];
  // As it stands first: an answer may hold a fence of its own. What has to be mended is more likely in a fence.
  const strict = [...bare, ...fenced].map((text) => () => JSON.parse(text));
  const mended = [...fenced, ...bare]
    .filter((text) => text.includes("{"))
    .map((text) => () => JSON.parse(jsonrepair(text)));
  for (const read of [...strict, ...mended]) {
    try {
      const value: unknown = read();
      if (typeof value === "object" && value !== null) return value;
    } catch {
      // The next one may do.
    }
  }
  throw new Error("There is no JSON object in it.");
}
