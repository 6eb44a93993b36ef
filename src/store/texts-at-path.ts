// The texts of a value that are embedded. Paths as LangGraph's stores have them: "$" all of it, "a.b", "list[*].text",
// "list[0]", "list[-1]", "*" for any field, "{a,b}" for some. Pure.

/** @returns no text where the path leads nowhere; empty ones are left out, since no model embeds them */
export function textsAtPath(value: unknown, path: string): string[] {
  const found = path === "$" || path === "" ? [value] : follow(value, toSteps(path));
  return found.map(toText).filter((text) => text.trim() !== "");
}

/** "a.b[0]" is a, b, [0]. */
const toSteps = (path: string): string[] => path.match(/\[[^\]]*\]|\{[^}]*\}|[^.[{]+/g) ?? [];

function follow(value: unknown, [step, ...rest]: readonly string[]): unknown[] {
  if (step === undefined) return [value];
  return next(value, step).flatMap((child) => follow(child, rest));
}

function next(value: unknown, step: string): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if (step.startsWith("[")) {
    if (!Array.isArray(value)) return [];
    if (step === "[*]") return value;
    const index = step.slice(1, -1).trim();
    return /^-?\d+$/.test(index) ? [value.at(Number(index))] : [];
  }
  if (step === "*") return Object.values(value);
  if (step.startsWith("{")) {
    const paths = step.slice(1, -1).split(",");
    return paths.flatMap((path) => follow(value, toSteps(path.trim())));
  }
  return Object.hasOwn(value, step) ? [(value as Record<string, unknown>)[step]] : [];
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? (JSON.stringify(value, null, 2) ?? "") : String(value);
}
