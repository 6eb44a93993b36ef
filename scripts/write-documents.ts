// Writes the documents whose facts live in code: .env.example from config.ts, docs/errors.md from errors.ts.
// `npm run docs` makes them anew; a test compares them.
import { writeFileSync } from "node:fs";
import { SETTINGS } from "../src/config/settings.ts";
import { ERRORS } from "../src/errors.ts";

/** .env.example: every setting with its default and one comment. */
export function envExample(): string {
  const lines = Object.entries(SETTINGS).map(
    ([name, { comment, allowed, example }]) => `# ${comment}\n# Allowed: ${allowed}\n${name}=${example}\n`,
  );
  return `# Copy to .env. Every setting may be left out; what is shown is the default.\n\n${lines.join("\n")}`;
}

/** docs/errors.md: the table of errors. */
export function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, summary }]) => `| \`${code}\` | ${status} | ${summary} |`,
  );
  return `# Errors

Made by \`npm run docs\` from \`src/errors.ts\`.

On the routes of the LangGraph API an error is its status and one or more sentences of plain text, as the official
server answers and its SDK expects. On Heddle's own routes (\`/threads/:id/uploads\`, \`/threads/:id/artifacts\`,
\`/models\`) it is \`{ "error": { "code", "message", "details"? } }\`. A code keeps its meaning. A 503 comes with
\`Retry-After\`.

A run that fails is no HTTP error: its status is \`error\`, its \`error\` is \`{ "error", "message" }\`, its stream ends with
an \`error\` event of the same, and \`wait\` and \`join\` answer \`{ "__error__": … }\`, which the SDK throws.

| code | status | meaning |
|---|---|---|
${rows.join("\n")}
`;
}

if (import.meta.main) {
  writeFileSync(new URL("../.env.example", import.meta.url), envExample());
  writeFileSync(new URL("../docs/errors.md", import.meta.url), errorsPage());
}
