// Reads glob patterns into expressions of RE2, which match in linear time: patterns come from a model, and no
// pattern may keep the server busy. Pure.
import { RE2JS } from "re2js";

const MAX_PATTERN_CHARS = 500;

/**
 * Whether a path (relative, with slashes) matches. `*` and `?` stop at slashes, `**` does not, `[a-z]` and `[!a]` are
 * one character, `{a,b}` is a choice, a backslash takes away a meaning. A pattern without a slash is matched against
 * the last segment, so `*.csv` finds files in every folder. Throws an Error that says what is wrong.
 */
export function toGlobMatcher(pattern: string): (path: string) => boolean {
  if (pattern === "" || pattern.length > MAX_PATTERN_CHARS) {
    throw new Error(`A glob pattern has 1 to ${MAX_PATTERN_CHARS} characters.`);
  }
  let expression: RE2JS;
  try {
    expression = RE2JS.compile(`^(?:${translate(pattern.replace(/^\.?\//, ""))})$`, RE2JS.DOTALL);
  } catch {
    throw new Error(`"${pattern}" is not a glob pattern: a bracket or brace is not closed.`);
  }
  const isName = !pattern.includes("/");
  return (path) => {
    const subject = isName ? path.slice(path.lastIndexOf("/") + 1) : path;
    return expression.matches(subject);
  };
}

function translate(pattern: string): string {
  let result = "";
  let depth = 0;
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    const rest = pattern.slice(at);
    const klass = character === "[" ? rest.match(/^\[[!^]?\]?[^\]/]*\]/)?.[0] : undefined;
    if (rest.startsWith("**/")) {
      result += "(?:[^/]+/)*";
      at += 2;
    } else if (rest.startsWith("**")) {
      result += ".*";
      at += 1;
    } else if (character === "*") {
      result += "[^/]*";
    } else if (character === "?") {
      result += "[^/]";
    } else if (klass !== undefined) {
      result += toClass(klass);
      at += klass.length - 1;
    } else if (character === "{") {
      result += "(?:";
      depth += 1;
    } else if (character === "}" && depth > 0) {
      result += ")";
      depth -= 1;
    } else if (character === "," && depth > 0) {
      result += "|";
    } else if (character === "\\") {
      at += 1;
      result += RE2JS.quote(pattern.charAt(at));
    } else if (character === "[") {
      throw new Error("not closed");
    } else {
      result += RE2JS.quote(character);
    }
  }
  return result;
}

function toClass(klass: string): string {
  const isNegated = /^\[[!^]/.test(klass);
  const members = klass.slice(isNegated ? 2 : 1, -1).replaceAll(/[\\[\]^&]/g, "\\$&");
  return isNegated ? `[^/${members}]` : `[${members}]`;
}
