import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comparePositions, createJoiner, type Placed, parseCursor, type Sent } from "./joiner.ts";
import { sample } from "./sampler.ts";
import type { Envelope, EnvelopeType } from "./schema.ts";

const envelope = (
  type: EnvelopeType,
  call: string,
  seq: number,
  payload: Record<string, unknown>,
): Envelope => ({
  type,
  ts: 0,
  trace_id: "trace",
  run_id: "run",
  parent_id: null,
  call_id: call,
  seq,
  origin: "live",
  agent: "agent",
  payload,
});

/** A stream of some calls: tokens, updates, and what must come through. */
const streams = fc
  .array(
    fc.record({
      type: fc.constantFrom<EnvelopeType>(
        "llm_token",
        "llm_token",
        "llm_token",
        "tool_update",
        "tool_start",
        "tool_end",
        "error",
      ),
      call: fc.constantFrom("a", "b", "c"),
      text: fc.string({ maxLength: 3 }),
      isSame: fc.boolean(),
    }),
    { maxLength: 60 },
  )
  .map((list) => {
    let [place, index] = [-1, 0];
    return list.map(({ type, call, text, isSame }, seq): Placed => {
      if (isSame && place >= 0) index++;
      else [place, index] = [place + 1, 0];
      const payload = type === "llm_token" ? { text } : { tool_name: call, data: text };
      // Tokens are a model's, updates those of a graph or a tool.
      const of = type === "llm_token" ? `model ${call}` : call;
      return { place, index, envelope: envelope(type, of, seq + 1, payload) };
    });
  });

const joinAll = (placed: readonly Placed[], resume?: Parameters<typeof createJoiner>[0]): Sent[] => {
  const joiner = createJoiner(resume);
  return [...placed.flatMap((one) => joiner.add(one)), ...joiner.flush()];
};

/** What a reader has who puts everything together. */
const read = (sent: readonly { envelope: Envelope }[]) => {
  const texts: Record<string, string> = {};
  const rest: Envelope[] = [];
  for (const { envelope } of sent) {
    if (envelope.type === "llm_token")
      texts[envelope.call_id] = (texts[envelope.call_id] ?? "") + envelope.payload.text;
    else if (envelope.type !== "tool_update") rest.push(envelope);
  }
  return {
    texts: Object.entries(texts)
      .filter(([, text]) => text !== "")
      .sort(),
    rest,
  };
};

const from = (placed: readonly Placed[], cursor: string) => {
  const known = parseCursor(cursor);
  if (!known) throw new Error(`no cursor: ${cursor}`);
  const rest = placed.filter((one) =>
    known.from ? comparePositions(one, known.from) >= 0 : comparePositions(one, known.to) > 0,
  );
  return joinAll(rest, known);
};

describe("joining", () => {
  it("loses no text, and no start, end or error, and keeps their order", () => {
    fc.assert(
      fc.property(streams, (placed) => {
        const sent = joinAll(placed);
        expect(read(sent)).toEqual(read(placed));
        const seqs = new Map<string, number>();
        for (const { envelope } of sent) {
          expect(envelope.seq).toBeGreaterThan(seqs.get(envelope.call_id) ?? 0);
          seqs.set(envelope.call_id, envelope.seq);
        }
      }),
    );
  });

  it("can be taken up behind everything that was sent, with nothing lost and nothing twice", () => {
    fc.assert(
      fc.property(streams, (placed) => {
        const sent = joinAll(placed);
        for (const [place, { cursor }] of sent.entries()) {
          const rest = from(placed, cursor);
          expect(rest.map(({ envelope }) => envelope)).toEqual(
            sent.slice(place + 1).map(({ envelope }) => envelope),
          );
        }
      }),
    );
  });

  it("gives the last of a call's updates, and what tokens' probabilities make together", () => {
    const updates = [1, 2, 3].map((n) => ({
      place: n,
      index: 0,
      envelope: envelope("tool_update", "a", n, { data: n }),
    }));
    expect(joinAll(updates).map(({ envelope }) => [envelope.seq, envelope.payload.data])).toEqual([[3, 3]]);
    const tokens = ["a", "b"].map((text, n) => ({
      place: n,
      index: 0,
      envelope: envelope("llm_token", "m", n + 1, { text, logprob: -1, reasoning: text }),
    }));
    expect(joinAll(tokens)[0]?.envelope.payload).toEqual({ text: "ab", logprob: -2, reasoning: "ab" });
  });

  it("holds no more than a few thousand characters", () => {
    const tokens = Array.from({ length: 100 }, (_, place) => ({
      place,
      index: 0,
      envelope: envelope("llm_token", "a", place + 1, { text: "x".repeat(1_000) }),
    }));
    const sent = joinAll(tokens);
    expect(sent.length).toBeGreaterThan(15);
    expect(read(sent)).toEqual(read(tokens));
  });

  it("cuts long texts and leaves out stacks, but no word of a model", () => {
    const long = "x".repeat(10_000);
    const trimmed = joinAll([
      {
        place: 0,
        index: 0,
        envelope: envelope("tool_end", "a", 1, { result: { text: [long] }, stack: "at" }),
      },
      { place: 1, index: 0, envelope: envelope("llm_token", "b", 1, { text: long }) },
    ]);
    const [end, token] = trimmed.map(({ envelope }) => envelope.payload);
    expect(end).toEqual({ result: { text: [`${"x".repeat(4_096)}… (5904 more characters)`] } });
    expect(token).toEqual({ text: long });
  });
});

describe("the sampler", () => {
  const token = (place: number, text: string) => [
    { place, index: 0, envelope: envelope("llm_token", "a", place + 1, { text }) },
  ];

  async function collect(pages: AsyncIterable<readonly Sent[]>) {
    const texts: unknown[] = [];
    for await (const page of pages) texts.push(...page.map(({ envelope }) => envelope.payload.text));
    return texts;
  }

  it("sends what waits after the window, though nothing more comes", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    async function* pages() {
      yield token(0, "one ");
      yield token(1, "two ");
      await promise;
      yield token(2, "three");
    }
    const sampled = sample(pages(), { profile: "user", windowMs: 25 });
    const first = await sampled.next();
    expect(first.value?.map((sent: Sent) => sent.envelope.payload.text)).toEqual(["one two "]);
    resolve();
    expect(await collect(sampled)).toEqual(["three"]);
  });

  it("sends everything as it is in debug", async () => {
    async function* pages() {
      yield token(0, "one ");
      yield token(1, "two");
    }
    expect(await collect(sample(pages(), { profile: "debug", windowMs: 25 }))).toEqual(["one ", "two"]);
  });

  it("asks for no more than is read", async () => {
    let asked = 0;
    async function* pages() {
      for (;;) {
        yield [{ place: asked, index: 0, envelope: envelope("tool_start", "a", ++asked, {}) }];
      }
    }
    const sampled = sample(pages(), { profile: "user", windowMs: 25 });
    for (let taken = 0; taken < 3; taken++) await sampled.next();
    expect(asked).toBe(3);
    await sampled.return(undefined);
    expect(asked).toBe(3);
  });

  it("sends what was waiting before it fails", async () => {
    async function* pages() {
      yield token(0, "one");
      throw new Error("broken off");
    }
    const sampled = sample(pages(), { profile: "user", windowMs: 75 });
    expect((await sampled.next()).value?.[0]?.envelope.payload.text).toBe("one");
    await expect(sampled.next()).rejects.toThrow("broken off");
  });
});
