// JSON text that jsonb takes. Pure.

/** No NUL, no lone surrogate: U+FFFD stands in for them. An escaped backslash is stepped over, whatever follows it. */
export const storableJson = (json: string): string =>
  json.replaceAll(/\\(?:\\|u0000|ud[89a-f][0-9a-f]{2})/gi, (found) => (found === "\\\\" ? found : "\\ufffd"));
