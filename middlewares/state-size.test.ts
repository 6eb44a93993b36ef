import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, test } from "vitest";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createStateSize, type StateSizeWarning } from "./state-size.ts";

function createAgent(limitBytes?: number) {
  const warnings: StateSizeWarning[] = [];
  const middleware = [createStateSize({ limitBytes, warn: (warning) => warnings.push(warning) })];
  return { warnings, ...createTestAgent({ middleware, script: () => "ok" }) };
}

describe("a state over the limit of 1 MB", () => {
  test("is warned of in the log and in the stream, with what makes it large", async () => {
    const { stream, warnings } = createAgent();
    const [event] = await stream("x".repeat(1_000_000), "custom");
    expect(event).toMatchObject({ type: "state_size", limit_bytes: 1_000_000 });
    expect(warnings).toEqual([event]);
    const [warning] = warnings;
    expect(warning?.bytes).toBeGreaterThan(1_000_000);
    expect(warning?.parts).toEqual({ messages: (warning?.bytes ?? 0) - 4, viewed_images: 2, artifacts: 2 });
  });

  test("changes nothing in the run", async () => {
    const { turn } = createAgent();
    expect((await turn("x".repeat(1_000_000))).messages).toHaveLength(2);
  });

  test("counts images and artifacts, and bytes instead of characters", async () => {
    const { turn, warnings } = createAgent(2_500);
    const viewed_images = { "/a.png": { base64: "A".repeat(1_000), mime_type: "image/png" } };
    await turn({
      messages: [new HumanMessage("é".repeat(300))],
      viewed_images,
      artifacts: ["b".repeat(1_000)],
    });
    expect(warnings[0]?.parts).toMatchObject({ viewed_images: 1_048, artifacts: 1_004 });
    expect(warnings[0]?.parts.messages).toBeGreaterThan(600);
  });
});

test("a state below the limit is passed over in silence", async () => {
  const { stream, warnings } = createAgent();
  expect(await stream("short", "custom")).toEqual([]);
  expect(warnings).toEqual([]);
});
