import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createMiddlewares } from "./index.ts";

const none = {} as never;
const chain = (debug: boolean) =>
  createMiddlewares({
    files: none,
    sandboxes: none,
    summarization: { triggerTokens: () => 1_000 },
    viewImage: { hasVision: () => true },
    debugState: { enabled: debug },
  });

test("every middleware of the folder is in the chain under its file's name, debug-state only on request", async () => {
  const files = await readdir(import.meta.dirname);
  const names = files.filter((file) => /(?<!\.test)\.ts$/.test(file) && file !== "index.ts");
  expect(
    chain(true)
      .map(({ name }) => `${name}.ts`)
      .sort(),
  ).toEqual(names.sort());
  expect(chain(false).map(({ name }) => name)).not.toContain("debug-state");
});

test("the README lists them in the order of the chain", async () => {
  const readme = await readFile(`${import.meta.dirname}/README.md`, "utf8");
  const listed = [...readme.matchAll(/^\| `([\w-]+)\.ts` +\|/gm)].map(([, name]) => name);
  const inChain = chain(true).map(({ name }) => name);
  expect(listed).toEqual(inChain);
});

test("nothing runs before or after the model in every round of the loop", () => {
  for (const middleware of chain(true)) {
    expect([middleware.name, middleware.beforeModel, middleware.afterModel]).toEqual([
      middleware.name,
      undefined,
      undefined,
    ]);
  }
});
