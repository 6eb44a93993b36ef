import { getLogger } from "@langchain/langgraph-sdk/logging";
import { pino } from "pino";
import { expect, it } from "vitest";
import { offerLogger } from "./sdk-logger.ts";

it("writes what a graph logs into the server's log, with its fields", () => {
  const lines: Record<string, unknown>[] = [];
  offerLogger(pino({ level: "trace" }, { write: (line) => void lines.push(JSON.parse(line)) }));
  getLogger().info("hello", { node: "n" }).error({ message: "an object", code: 7 }).silly("quiet");
  expect(lines).toMatchObject([
    { level: 30, msg: "hello", node: "n" },
    { level: 50, message: "an object", code: 7 },
    { level: 10, msg: "quiet" },
  ]);
});
