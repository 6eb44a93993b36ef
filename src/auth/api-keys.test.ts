import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createKeyRules } from "./api-keys.ts";

const digest = (key: string) => createHash("sha256").update(key).digest("hex");
const { authenticate, accessOf } = createKeyRules([
  { name: "ann", digest: digest("key of ann") },
  { name: "ann", digest: digest("new key of ann") },
  { name: "bob", digest: digest("bobs-key") },
]);
const ask = (headers: Record<string, string | undefined>) =>
  authenticate({ method: "GET", url: "http://x/threads", headers });

describe("a key", () => {
  it.each([
    [{ "x-api-key": "key of ann" }, "ann"],
    [{ "x-api-key": "new key of ann" }, "ann"],
    [{ authorization: "Bearer bobs-key" }, "bob"],
    [{ authorization: "bearer  bobs-key" }, "bob"],
    [{ "x-api-key": "of another server", authorization: "Bearer bobs-key" }, "bob"],
  ])("opens with %o", async (headers, owner) => {
    const access = await ask(headers);
    expect(access).toMatchObject({ owner, caller: { identity: owner, user: { identity: owner } } });
    expect(JSON.stringify(access)).not.toContain("key");
  });

  it.each([
    {},
    { "x-api-key": "" },
    { "x-api-key": "KEY OF ANN" },
    { "x-api-key": "ann" },
    { "x-api-key": digest("bobs-key") },
    { authorization: "bobs-key" },
    { authorization: "Basic bobs-key" },
    { "x-auth-scheme": "langsmith" },
  ])("does not open with %o", async (headers) => {
    await expect(ask(headers)).rejects.toMatchObject({
      status: 401,
      headers: { "www-authenticate": "Bearer" },
    });
  });
});

describe("what a key may do", () => {
  const check = async (...args: Parameters<Awaited<ReturnType<typeof ask>>["check"]>) =>
    (await ask({ "x-api-key": "bobs-key" })).check(...args);

  it("is limited to what has its name", async () => {
    for (const action of ["read", "update", "delete", "search", "create"] as const) {
      expect(await check("threads", action, {})).toEqual({ owner: "bob" });
      expect(await check("crons", action, {})).toEqual({ owner: "bob" });
    }
    expect(await check("assistants", "update", {})).toEqual({ owner: "bob" });
    expect(await check("assistants", "read", {})).toEqual({
      $either: [{ owner: "bob" }, { created_by: "system" }],
    });
  });

  it.each(["create", "update"] as const)(
    "stamps the name on what it makes or changes: %s",
    async (action) => {
      const value: Record<string, unknown> = { metadata: { owner: "ann", created_by: "system", a: 1 } };
      await check("assistants", action, value);
      expect(value.metadata).toEqual({ owner: "bob", a: 1 });
      const nothing: Record<string, unknown> = { metadata: undefined };
      await check("threads", action, nothing);
      expect(nothing.metadata).toEqual({ owner: "bob" });
    },
  );
});

describe("somebody who has had a key", () => {
  it("is known by his name as long as there is one", async () => {
    const { caller } = await ask({ "x-api-key": "key of ann" });
    expect(accessOf(caller?.user)?.caller).toEqual(caller);
    expect(accessOf({ identity: "eve" })).toBeUndefined();
    expect(accessOf(undefined)).toBeUndefined();
  });
});
