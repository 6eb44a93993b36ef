import { HumanMessage } from "@langchain/core/messages";
import { expect, test } from "vitest";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createDebugState, type DebugState } from "./debug-state.ts";

test("the state is shown at the start of the turn, without messages and images themselves", async () => {
  const logged: DebugState[] = [];
  const agent = createTestAgent({
    middleware: [createDebugState({ log: (shown) => logged.push(shown) })],
    script: ["ok"],
  });
  const input = {
    messages: [new HumanMessage("secret words")],
    title: "Mine",
    viewed_images: { "/mnt/user-data/uploads/a.png": { base64: "QUJD", mime_type: "image/png" } },
  };
  const [event] = await agent.stream(input, "custom");
  expect(logged).toEqual([event]);
  expect(event).toMatchObject({
    type: "debug_state",
    state: { title: "Mine", messages: 1, viewed_images: ["/mnt/user-data/uploads/a.png"], sandbox: null },
  });
  expect(JSON.stringify(event)).not.toMatch(/secret|QUJD/);
});
