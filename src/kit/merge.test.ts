import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type MergeHandler, mergeArtifacts, mergeLists, mergeViewedImages, replaceValues } from "./merge.ts";

const image = (base64: string) => ({ base64, mime_type: "image/png" });

describe("the examples of document 000", () => {
  test("artifacts merge without doubles", () => {
    expect(mergeArtifacts(["file1.txt", "file2.txt"], ["file2.txt", "file3.txt"])).toEqual([
      "file1.txt",
      "file2.txt",
      "file3.txt",
    ]);
  });

  test("an empty record clears the viewed images", () => {
    expect(mergeViewedImages({ "img1.png": image("data") }, {})).toEqual({});
  });

  test("a new image wins over the old one of the same path", () => {
    const merged = mergeViewedImages({ "img1.png": image("old") }, { "img1.png": image("new") });
    expect(merged["img1.png"]?.base64).toBe("new");
  });

  test("new image paths are added beside the old ones", () => {
    expect(mergeViewedImages({ "a.png": image("a") }, { "b.png": image("b") })).toEqual({
      "a.png": image("a"),
      "b.png": image("b"),
    });
  });

  test("nothing existing gives the new value, nothing new keeps the existing one", () => {
    expect(mergeArtifacts(null, ["a"])).toEqual(["a"]);
    expect(mergeArtifacts(["a"], null)).toEqual(["a"]);
    expect(mergeArtifacts(null, null)).toEqual([]);
    expect(mergeViewedImages(null, { "a.png": image("a") })).toEqual({ "a.png": image("a") });
    expect(mergeViewedImages({ "a.png": image("a") }, null)).toEqual({ "a.png": image("a") });
    expect(mergeViewedImages(null, null)).toEqual({});
  });
});

describe("the default handlers of document 004", () => {
  test("lists are merged, in order", () => {
    expect(mergeLists([1, 2], [3, 4])).toEqual([1, 2, 3, 4]);
  });

  test("a single value on either side is a list of one", () => {
    expect(mergeLists(1, 2)).toEqual([1, 2]);
    expect(mergeLists([1], 2)).toEqual([1, 2]);
    expect(mergeLists({ a: 1 }, [{ a: 2 }])).toEqual([{ a: 1 }, { a: 2 }]);
  });

  test("an element counts once, and a handler of one's own keeps every one", () => {
    type Maybe<Value> = Value | null | undefined;
    expect(mergeLists([1, 2], [2, 3])).toEqual([1, 2, 3]);
    expect(mergeLists([1], [1])).toEqual([1]);
    const everything = (current: Maybe<number[]>, next: Maybe<number[]>) => [
      ...(current ?? []),
      ...(next ?? []),
    ];
    expect(everything([1], [1])).toEqual([1, 1]);
  });

  test("elements that have no JSON, or not all of it, are told apart too", () => {
    const loop: unknown[] = [];
    loop.push(loop);
    const list = [
      1n,
      2n,
      new Set([1]),
      new Set([2]),
      new Map([["a", 1]]),
      new Map([["a", 2]]),
      loop,
      undefined,
    ];
    expect(mergeLists(list, list)).toEqual(list);
  });

  test("everything else is replaced", () => {
    expect(replaceValues("Alice", "Bob")).toBe("Bob");
  });

  test("an undefined write is no write, a null write clears", () => {
    expect(replaceValues("kept", undefined)).toBe("kept");
    expect(replaceValues("gone", null)).toBeNull();
  });
});

const paths = fc.array(fc.string());
const images = fc.dictionary(fc.string(), fc.record({ base64: fc.string(), mime_type: fc.string() }));
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 4, nil: undefined });

/** Each handler with values it may meet; `unknown` is how a channel sees it. */
const handlers: [string, MergeHandler<unknown>, fc.Arbitrary<unknown>][] = [
  ["replace", replaceValues, fc.jsonValue()],
  ["mergeLists", mergeLists as MergeHandler<unknown>, fc.array(fc.jsonValue())],
  ["mergeLists of single values", mergeLists as MergeHandler<unknown>, fc.jsonValue()],
  ["mergeArtifacts", mergeArtifacts as MergeHandler<unknown>, paths],
  ["mergeViewedImages", mergeViewedImages as MergeHandler<unknown>, images],
];

describe.each(handlers)("%s", (_name, merge, values) => {
  test("is pure: it changes neither side and answers the same again", () => {
    fc.assert(
      fc.property(maybe(values), maybe(values), (current, next) => {
        const before = structuredClone([current, next]);
        const first = merge(current, next);
        expect(merge(current, next)).toEqual(first);
        expect([current, next]).toEqual(before);
      }),
    );
  });

  test("takes null and undefined on both sides and never answers undefined", () => {
    fc.assert(
      fc.property(maybe(values), (value) => {
        for (const nothing of [null, undefined]) {
          expect(merge(nothing, value)).not.toBeUndefined();
          expect(merge(value, nothing)).not.toBeUndefined();
          expect(merge(nothing, nothing)).not.toBeUndefined();
        }
      }),
    );
  });

  test("is idempotent: the same write again, or the state written back, changes nothing", () => {
    fc.assert(
      fc.property(maybe(values), maybe(values), (current, next) => {
        const once = merge(current, next);
        expect(merge(once, next)).toEqual(once);
        expect(merge(once, once)).toEqual(once);
      }),
    );
  });
});

describe("parallel tool results", () => {
  const inAnyOrder = <Update>(updates: fc.Arbitrary<Update[]>) =>
    updates.chain((list) =>
      fc.tuple(
        fc.constant(list),
        fc.shuffledSubarray(list, { minLength: list.length, maxLength: list.length }),
      ),
    );

  test("artifacts hold the same files whatever order the tools end in", () => {
    fc.assert(
      fc.property(inAnyOrder(fc.array(paths)), ([updates, shuffled]) => {
        const merged = updates.reduce((state, update) => mergeArtifacts(state, update), [] as string[]);
        const other = shuffled.reduce((state, update) => mergeArtifacts(state, update), [] as string[]);
        expect(new Set(other)).toEqual(new Set(merged));
      }),
    );
  });

  test("viewed images hold the same paths whatever order the tools end in", () => {
    const views = fc.uniqueArray(fc.string(), { minLength: 1 });
    fc.assert(
      fc.property(inAnyOrder(views), ([updates, shuffled]) => {
        const view = (order: string[]) =>
          order.reduce((state, path) => mergeViewedImages(state, { [path]: path }), {});
        expect(view(shuffled)).toEqual(view(updates));
      }),
    );
  });
});
