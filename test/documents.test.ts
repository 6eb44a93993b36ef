// Facts live once: what stands in a document and in the code is compared here.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { dumpSchema } from "../scripts/dump-schema.ts";
import { compatibilityPage, envExample, envelopeJsonSchema, errorsPage } from "../scripts/write-documents.ts";
import { SETTINGS } from "../src/config/settings.ts";
import { loadConfig } from "../src/config.ts";
import { createTestDatabase } from "./helpers/database.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const read = (file: string) => readFileSync(path.join(ROOT, file), "utf8");
const packageJson = JSON.parse(read("package.json"));

describe("documents made from code are as the code is now (npm run docs, npm run schema)", () => {
  it(".env.example", () => expect(read(".env.example")).toBe(envExample()));
  it("docs/errors.md", () => expect(read("docs/errors.md")).toBe(errorsPage()));
  it("docs/envelope.schema.json", () => expect(read("docs/envelope.schema.json")).toBe(envelopeJsonSchema()));
  it("docs/compatibility.md", () => expect(read("docs/compatibility.md")).toBe(compatibilityPage()));
  it("src/db/schema.sql", async () => {
    const database = await createTestDatabase();
    expect(await dumpSchema(database.db)).toBe(read("src/db/schema.sql"));
    await database.drop();
  });
});

describe("examples", () => {
  it(".env.example shows the defaults", () => {
    const env = Object.fromEntries(Object.entries(SETTINGS).map(([name, { example }]) => [name, example]));
    expect(loadConfig({ cwd: "/nowhere", env })).toEqual(loadConfig({ cwd: "/nowhere", env: {} }));
  });

  it("config.example.yaml shows the defaults, and is accepted", () => {
    const shown = loadConfig({
      cwd: "/nowhere",
      env: { CONFIG_FILE: path.join(ROOT, "config.example.yaml") },
    });
    const { models, ...defaults } = loadConfig({ cwd: "/nowhere", env: {} });
    expect(shown).toMatchObject(defaults);
    expect(models).toEqual([]);
    expect(Object.keys(parse(read("config.example.yaml")))).toEqual([
      "models",
      "title",
      "summarization",
      "sessions",
      "limits",
      "research",
      "debug_state",
    ]);
  });
});

it("docker-compose.yml hands on every setting that is not about where the server runs", () => {
  const own = ["HOST", "PORT", "DATA_DIR", "DATABASE_URL", "CONFIG_FILE", "LANGGRAPH_CONFIG"];
  const { environment } = parse(read("docker-compose.yml")).services.heddle;
  const { DATABASE_URL: _, ...handed } = environment;
  const names = Object.keys(SETTINGS).filter((name) => !own.includes(name));
  expect(handed).toEqual(Object.fromEntries(names.map((name) => [name, `\${${name}:-}`])));
  // What is not set reaches the server as an empty text.
  const empty = Object.fromEntries(names.map((name) => [name, ""]));
  expect(loadConfig({ cwd: "/nowhere", env: empty })).toEqual(loadConfig({ cwd: "/nowhere", env: {} }));
});

describe("docs/state.md", () => {
  const lines = (text: string) =>
    text
      .split("\n")
      .map((line) => line.trim())
      .join("\n");
  const run = [
    ...readdirSync(path.join(ROOT, "test/fixtures/state")).map((name) => `test/fixtures/state/${name}`),
    ...["merge", "state/state", "state/parallel-writes"].map((name) => `src/kit/${name}.test.ts`),
    "test/api/typed-state.test.ts",
  ];
  const code = run.map((file) => lines(read(file)));

  it.each([...read("docs/state.md").matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1] ?? ""))(
    "shows code that a test runs:\n%s",
    (example) => expect(code.some((text) => text.includes(lines(example)))).toBe(true),
  );
});

describe("README.md", () => {
  const readme = read("README.md");

  it("names every setting, with its default", () => {
    for (const [name, { example }] of Object.entries(SETTINGS)) {
      expect(readme).toMatch(
        new RegExp(
          `\\| \`${name}\` \\| ${example ? `\`${example.replaceAll(".", "\\.").replaceAll("*", "\\*")}\`` : ""} ?\\|`,
        ),
      );
    }
  });

  it("calls only scripts that there are", () => {
    const called = [...readme.matchAll(/npm run ([\w:-]+)/g)].map((match) => match[1]);
    for (const script of called) expect(packageJson.scripts).toHaveProperty(script ?? "");
  });

  it("links only to what is there", () => {
    for (const file of [
      "README.md",
      "CONTRIBUTING.md",
      ...readdirSync(path.join(ROOT, "docs")).map((name) => `docs/${name}`),
    ]) {
      if (!file.endsWith(".md")) continue;
      const links = [...read(file).matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)/g)].map(
        (match) => match[1] ?? "",
      );
      for (const link of links) {
        expect(existsSync(path.resolve(ROOT, path.dirname(file), link)), `${file} → ${link}`).toBe(true);
      }
    }
  });
});

describe("the project", () => {
  it("pins every dependency to one version", () => {
    const all = {
      ...packageJson.dependencies,
      ...packageJson.devDependencies,
      ...packageJson.optionalDependencies,
    };
    for (const [name, version] of Object.entries(all))
      expect(version, name).toMatch(/^(npm:@?[\w./-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/);
  });

  it("numbers its decisions without a gap", () => {
    const numbers = readdirSync(path.join(ROOT, "docs/decisions")).map((name) => Number.parseInt(name, 10));
    expect(numbers.sort((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1));
  });

  it("says in the changelog what this version has", () => {
    expect(read("CHANGELOG.md")).toContain(`## ${packageJson.version}`);
  });
});
