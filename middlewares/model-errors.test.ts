import { ContextOverflowError } from "@langchain/core/errors";
import { describe, expect, test } from "vitest";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createModelErrors } from "./model-errors.ts";

/** An error as the OpenAI client makes it. */
function answered(status: number, message = "no", more: object = {}): Error {
  return Object.assign(new Error(`${status} ${message}`), { status, ...more });
}

function createAgent(script: Parameters<typeof createTestAgent>[0]["script"], maxRetries = 3) {
  const waits: number[] = [];
  const wait = async (milliseconds: number, signal: AbortSignal | undefined) => {
    signal?.throwIfAborted();
    waits.push(milliseconds);
  };
  const middleware = [createModelErrors({ maxRetries: () => maxRetries, wait })];
  return { waits, ...createTestAgent({ middleware, script }) };
}

const failure = async (script: Parameters<typeof createTestAgent>[0]["script"], maxRetries?: number) => {
  const agent = createAgent(script, maxRetries);
  const error: Error = await agent.turn("go").catch((thrown) => thrown);
  return { error, calls: agent.model.requests.length, waits: agent.waits };
};

describe("a passing failure is followed by another call", () => {
  test.each<[string, Error]>([
    ["503", answered(503)],
    ["500", answered(500)],
    ["429 without a time", answered(429)],
    ["a broken stream", new TypeError("terminated")],
    [
      "a refused connection",
      new TypeError("fetch failed", { cause: Object.assign(new Error(), { code: "ECONNREFUSED" }) }),
    ],
    ["a time-out", Object.assign(new Error("Request timed out."), { name: "TimeoutError" })],
  ])("%s", async (_what, error) => {
    const { turn, model, waits } = createAgent([error, error, "Here I am."]);
    expect((await turn("go")).messages.at(-1)?.text).toBe("Here I am.");
    expect(model.requests).toHaveLength(3);
    expect(waits).toHaveLength(2);
    expect(waits.every((milliseconds) => milliseconds > 0 && milliseconds <= 1_000)).toBe(true);
  });

  test("after a stream that broke in the middle, of which nothing is kept", async () => {
    const { turn } = createAgent([
      { content: "Half an", error: new TypeError("terminated") },
      "A whole answer.",
    ]);
    expect((await turn("go")).messages.map(({ text }) => text)).toEqual(["go", "A whole answer."]);
  });

  test.each([
    ["seconds", { headers: new Headers({ "retry-after": "7" }) }, 7_000],
    ["seconds in a plain record", { headers: { "retry-after": "2" } }, 2_000],
    ["LangChain's reading of them", { retryAfterMs: 1_500 }, 1_500],
    ["a date that is past", { headers: { "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" } }, 0],
  ])("not before the time in Retry-After, given as %s", async (_what, more, milliseconds) => {
    const { turn, waits } = createAgent([answered(429, "slow down", more), "Here I am."]);
    await turn("go");
    expect(waits).toEqual([milliseconds]);
  });
});

describe("a failure that does not pass ends the run at once, as an error", () => {
  test.each<[string, Error, RegExp, number]>([
    [
      "a wrong key",
      answered(401, "Incorrect API key provided: sk-abcd****wxyz"),
      /^The model endpoint refused the API key \(401\)\.$/,
      1,
    ],
    [
      "an unknown model",
      answered(404, "no model gpt-9"),
      /does not know this model or path \(404\): 404 no model gpt-9$/,
      1,
    ],
    [
      "a refused request",
      answered(400, "bad tool schema"),
      /refused the request \(400\): 400 bad tool schema$/,
      1,
    ],
    ["a quota that is used up", answered(402), /quota .* used up \(402\)/, 1],
    [
      "a time that is too far away",
      answered(429, "", { retryAfterMs: 3_600_000 }),
      /no more calls at present \(429\)\.$/,
      1,
    ],
    [
      "a conversation that is too long",
      new ContextOverflowError("context_length_exceeded"),
      /longer than the model can read/,
      1,
    ],
    [
      "an endpoint that stays down",
      answered(503),
      /^The model endpoint failed \(503\)\. It was called 4 times\.$/,
      4,
    ],
    [
      "a rate limit that stays",
      answered(429),
      /no more calls at present \(429\)\. It was called 4 times\.$/,
      4,
    ],
    [
      "a connection that stays broken",
      new TypeError("fetch failed"),
      /connection .* failed or broke off\. It was called 4 times/,
      4,
    ],
  ])("%s", async (_what, error, message, calls) => {
    const outcome = await failure(() => error);
    expect(outcome.error).toMatchObject({ name: "ModelCallError", message: expect.stringMatching(message) });
    expect(outcome.calls).toBe(calls);
  });

  test("and its words hold no key and are bounded", async () => {
    const { error } = await failure(() => answered(400, `key sk-proj-123456 is odd ${"x".repeat(5_000)}`));
    expect(error.message).not.toContain("123456");
    expect(error.message.length).toBeLessThan(400);
  });

  test("with as many calls as the model's setting allows", async () => {
    expect((await failure(() => answered(500), 0)).calls).toBe(1);
  });
});

test.each([
  ["a refusal", answered(400)],
  ["a conversation that is too long", ContextOverflowError.fromError(answered(400, "too long"))],
])("the middlewares outside see the status of %s", async (_what, thrown) => {
  const { wrapModelCall } = createModelErrors();
  const call = wrapModelCall?.({ runtime: {} } as never, () => Promise.reject(thrown));
  await expect(call).rejects.toMatchObject({ name: "ModelCallError", status: 400 });
});

test("an error that is not the endpoint's keeps its class and its words", async () => {
  const { error, calls } = await failure(() => new RangeError("a bug"));
  expect(error).toMatchObject({ name: "RangeError", message: "a bug" });
  expect(calls).toBe(1);
});

test("a run that is stopped is not called again", async () => {
  let calls = 0;
  const { wrapModelCall } = createModelErrors({ wait: async () => undefined });
  const handler = () => {
    calls++;
    return Promise.reject(answered(503));
  };
  const request = { runtime: { signal: AbortSignal.abort() } };
  await expect(wrapModelCall?.(request as never, handler)).rejects.toThrow("503");
  expect(calls).toBe(1);
});

test("the wait ends with the run", async () => {
  const { wrapModelCall } = createModelErrors();
  const controller = new AbortController();
  const handler = () => {
    queueMicrotask(() => setImmediate(() => controller.abort()));
    return Promise.reject(answered(429, "", { retryAfterMs: 50_000 }));
  };
  const request = { runtime: { signal: controller.signal } };
  await expect(wrapModelCall?.(request as never, handler)).rejects.toThrow("aborted");
});

test("the model's own retries are off, so that a call is not repeated twice over", async () => {
  const { turn, model } = createAgent(["hello"]);
  await turn("go");
  expect(model.requests[0]?.options).toMatchObject({ maxRetries: 0 });
});
