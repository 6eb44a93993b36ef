// Recognises a tool call that a model has written as text, in the forms that models fall into: their own training
// formats, an older prompt's, or plain JSON. Code that an answer shows is not one. Pure.

/** Openings that stand nowhere but before a call, and in texts about them. */
const MARKER = new RegExp(
  [
    ...["<tool_call>", "</?function_calls?>", "<function=", "<invoke\\s+name=", "<tool_use>", "<tool_code>"],
    ...["\\[TOOL_CALLS\\]", "<\\|(?:tool_call|python_tag|call\\||channel\\|>commentary)", "<｜tool"],
  ].join("|"),
);

/** `text` without blanks around it. */
export function isCallAsText(text: string, tools: readonly string[]): boolean {
  const prose = text
    .replace(/```[\s\S]*?(?:```|$)/g, "")
    .replace(/`[^`\n]*`/g, "")
    .trim();
  const names = tools.map((tool) => tool.replace(/\W/g, "\\$&"));
  // Without tools there is no name, which is not the same as an empty one.
  const name = `(?:${names.join("|") || "(?!)"})(?![\\w-])`;
  const at = prose.search(MARKER);
  if (at === 0) return true;
  // In the middle of a sentence it may be talk about calls; with a tool's name behind it, it is one.
  if (at > 0 && new RegExp(`(?<![\\w-])${name}`).test(prose.slice(at))) return true;
  return isInOlderForm(prose, name) || isJsonCall(text, tools) || /^```tool_code\n/.test(text);
}

function isInOlderForm(prose: string, name: string): boolean {
  const forms = [
    // [bash(command="ls")]
    `^\\[?${name}\\(\\s*\\w+\\s*=[\\s\\S]*\\)\\]?$`,
    // to=functions.bash {"command": "ls"}
    `^to=(?:functions\\.)?${name}`,
    // The two lines of a ReAct prompt.
    `(?:^|\\n)Action:[ \\t]*${name}[ \\t]*\\nAction Input:`,
  ];
  return forms.some((form) => new RegExp(form).test(prose));
}

function isJsonCall(text: string, tools: readonly string[]): boolean {
  try {
    const values: unknown[] = [JSON.parse(text.replace(/^```\w*\n([\s\S]*?)\n?```$/, "$1"))].flat();
    return values.some((value) => isCallObject(value, tools));
  } catch {
    return false;
  }
}

function isCallObject(value: unknown, tools: readonly string[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { name, function: inner, ...rest } = value as Record<string, unknown>;
  if (typeof inner === "object") return isCallObject(inner, tools);
  const called = name ?? inner;
  const keys = ["arguments", "parameters", "args", "input"];
  return typeof called === "string" && tools.includes(called) && keys.some((key) => key in rest);
}
