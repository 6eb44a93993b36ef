// Writes the documents whose facts live in code: .env.example from config.ts, docs/errors.md from errors.ts,
// docs/envelope.schema.json from its Zod schema, docs/compatibility.md from the rows of the conformance tests.
// `npm run docs` makes them anew; a test compares them.
import { writeFileSync } from "node:fs";
import { z } from "zod";
import { SETTINGS } from "../src/config/settings.ts";
import { envelopeSchema } from "../src/envelope/schema.ts";
import { ERRORS } from "../src/errors.ts";
import { SECTIONS } from "../test/conformance/api/sections.ts";

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
\`/threads/:id/events\`, \`/threads/:id/runs/:run_id/events\`, \`/models\`, \`/sessions/:id\`) it is
\`{ "error": { "code", "message", "details"? } }\`. A code keeps its meaning. A 503 comes with
\`Retry-After\`.

A run that fails is no HTTP error: its status is \`error\`, its \`error\` is \`{ "error", "message" }\`, its stream ends with
an \`error\` event of the same, and \`wait\` and \`join\` answer \`{ "__error__": … }\`, which the SDK throws.

| code | status | meaning |
|---|---|---|
${rows.join("\n")}
`;
}

/** docs/envelope.schema.json: one envelope, as a JSON schema. */
export const envelopeJsonSchema = () =>
  `${JSON.stringify({ title: "Envelope", ...z.toJSONSchema(envelopeSchema) }, null, 2)}\n`;

/** docs/compatibility.md: the LangGraph Server API, point by point. */
export function compatibilityPage(): string {
  const cell = (text: string | undefined) => (text ?? "").replaceAll("|", "\\|");
  const sections = SECTIONS.map(({ title, rows }) => {
    const lines = rows.map(
      ({ of, heddle, dev, why }) =>
        `| ${cell(of)} | ${cell(heddle)} | ${cell(dev) || "the same"} | ${cell(why)} |`,
    );
    return `## ${title}\n\n| | Heddle | official dev server | why |\n|---|---|---|---|\n${lines.join("\n")}\n`;
  });
  return `# Compatibility with the LangGraph Server API

Made by \`npm run docs\` from the rows of \`test/conformance/api/\`: each line is a test that runs with the official SDK
(\`@langchain/langgraph-sdk\`) in versions 1.12.4 and 1.15.0. The official dev server is that of
\`@langchain/langgraph-cli\` 1.5.1.

${sections.join("\n")}`;
}

if (import.meta.main) {
  writeFileSync(new URL("../.env.example", import.meta.url), envExample());
  writeFileSync(new URL("../docs/errors.md", import.meta.url), errorsPage());
  writeFileSync(new URL("../docs/envelope.schema.json", import.meta.url), envelopeJsonSchema());
  writeFileSync(new URL("../docs/compatibility.md", import.meta.url), compatibilityPage());
}
