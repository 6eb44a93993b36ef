import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{src,middlewares,tools,test}/**/*.test.ts"],
    globalSetup: "test/helpers/global-setup.ts",
    pool: "forks",
    // Vitest leaves one core free: of two that is half, and most tests wait for a server.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // LangGraph looks at what it has stored at the end of a step: until then the checkpoint that a run which has been
    // taken over may not store is a rejected promise that nobody has looked at.
    onUnhandledError: ({ name }) => name !== "FencedError",
    // What is waited for may wait for a poll of a second, on a machine that is busy.
    expect: { poll: { timeout: 15_000 } },
  },
});
