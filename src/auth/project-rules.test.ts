// Rules of a project, made with the SDK's own class in both versions.
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";
import { Auth as NextAuth, HTTPException as NextHTTPException } from "langgraph-sdk-next/auth";
import { describe, expect, it } from "vitest";
import { createProjectRules, isProjectAuth, type ProjectAuth } from "./project-rules.ts";

const REQUEST = {
  method: "POST",
  url: "http://127.0.0.1:2024/threads?a=1",
  headers: { authorization: "Bearer t", host: "127.0.0.1:2024", cookie: "c=1", "x-two": ["1", "2"] },
};

/** What a project writes has other types in each version; here only what it does counts. */
type AnyAuth = {
  authenticate(handler: (request: Request) => unknown): AnyAuth;
  on(event: string | string[], handler: (asked: never) => unknown): AnyAuth;
};

describe.each([
  ["1.12.4", Auth, HTTPException],
  ["1.15.0", NextAuth, NextHTTPException],
])("the Auth of SDK %s", (_, SdkAuth, SdkException) => {
  const make = () => new SdkAuth() as unknown as AnyAuth;
  const open = (auth: AnyAuth) => createProjectRules(auth as unknown as ProjectAuth).authenticate(REQUEST);
  const known = () => make().authenticate(() => ({ identity: "ann", permissions: ["a", "b"], team: "blue" }));

  it("is known by its handlers, and only with authenticate", () => {
    expect(isProjectAuth(known())).toBe(true);
    expect(isProjectAuth(make())).toBe(false);
    expect(isProjectAuth(make().on("*", () => true))).toBe(false);
    for (const other of [undefined, null, {}, () => undefined, { "~handlerCache": {} }]) {
      expect(isProjectAuth(other)).toBe(false);
    }
  });

  it("sees the request as it came", async () => {
    let seen: Request | undefined;
    await open(
      make().authenticate((request) => {
        seen = request;
        return "ann";
      }),
    );
    expect(seen).toBeInstanceOf(Request);
    expect(seen?.method).toBe("POST");
    expect(seen?.url).toBe(REQUEST.url);
    expect(Object.fromEntries(seen?.headers ?? [])).toEqual({ ...REQUEST.headers, "x-two": "1, 2" });
  });

  it("says who calls, by a name or in full", async () => {
    expect((await open(make().authenticate(() => "ann"))).caller).toEqual({
      identity: "ann",
      permissions: [],
      user: { identity: "ann", display_name: "ann", is_authenticated: true, permissions: [] },
    });
    expect((await open(known())).caller).toEqual({
      identity: "ann",
      permissions: ["a", "b"],
      user: {
        identity: "ann",
        display_name: "ann",
        is_authenticated: true,
        permissions: ["a", "b"],
        team: "blue",
      },
    });
  });

  it("refuses with its own status, text and headers", async () => {
    const thrown = [
      new SdkException(401, {
        message: "No",
        headers: { "WWW-Authenticate": "Basic", "content-length": "7" },
      }),
      { status: 418, message: "No" },
    ];
    for (const error of thrown) {
      const auth = make().authenticate(() => Promise.reject(error));
      await expect(open(auth)).rejects.toMatchObject({ status: error.status, message: "No" });
    }
    const auth = make().authenticate(() => {
      throw thrown[0];
    });
    await expect(open(auth)).rejects.toMatchObject({ headers: { "www-authenticate": "Basic" } });
  });

  it.each([
    ["throws what has no status", () => Promise.reject(new Error("database down at 10.0.0.1"))],
    ["throws nothing", () => Promise.reject(undefined)],
    ["throws a status that is none", () => Promise.reject({ status: 200, message: "fine" })],
    ["returns nothing", () => undefined],
    ["returns false", () => false],
    ["returns a user without identity", () => ({ name: "ann" })],
  ])("lets nobody in when authenticate %s", async (_, handler) => {
    await expect(open(make().authenticate(handler))).rejects.toMatchObject({
      status: 500,
      message: "Internal Server Error",
    });
  });

  it("runs one handler, the one that fits best", async () => {
    const ran: string[] = [];
    const auth = known();
    for (const event of ["*", "*:read", "threads", "threads:read"])
      auth.on(event, () => void ran.push(event));
    const { check } = await open(auth);
    await check("threads", "read", {});
    await check("threads", "delete", {});
    await check("assistants", "read", {});
    await check("store", "get", {});
    expect(ran).toEqual(["threads:read", "threads", "*:read", "*"]);
  });

  it("allows what no handler is for", async () => {
    const { check } = await open(known().on("threads", () => false));
    expect(await check("assistants", "search", {})).toBeUndefined();
  });

  it("is told all of the question, and its changes of the value count", async () => {
    let asked: object = {};
    const auth = known().on(
      ["threads:create", "crons"],
      (question: { value: { metadata: { owner: string } } }) => {
        asked = { ...question };
        question.value.metadata.owner = "ann";
      },
    );
    const value: Record<string, unknown> = { thread_id: "t" };
    expect(await (await open(auth)).check("threads", "create", value)).toBeUndefined();
    expect(value).toEqual({ thread_id: "t", metadata: { owner: "ann" } });
    expect(asked).toMatchObject({
      event: "threads:create",
      resource: "threads",
      action: "create",
      permissions: ["a", "b"],
      user: { identity: "ann", team: "blue" },
    });
  });

  it.each([
    ["true", true, undefined],
    ["null", null, undefined],
    ["a filter", { owner: "ann", teams: { $contains: "blue" } }, { owner: "ann", teams: ["blue"] }],
    ["a promise of one", Promise.resolve({ owner: { $eq: "ann" } }), { owner: "ann" }],
  ])("allows with %s", async (_, result, scope) => {
    const { check } = await open(known().on("*", () => result));
    expect(await check("threads", "read", {})).toEqual(scope);
  });

  it("forbids with false, or by what it throws", async () => {
    const check = async (handler: () => unknown) =>
      (await open(known().on("*", handler))).check("threads", "read", {});
    await expect(check(() => false)).rejects.toMatchObject({ status: 403, message: "Not authorized" });
    await expect(check(async () => false)).rejects.toMatchObject({ status: 403 });
    await expect(
      check(() => {
        throw new SdkException(402, { message: "Pay first" });
      }),
    ).rejects.toMatchObject({ status: 402, message: "Pay first" });
  });

  it.each([
    ["a text", () => "yes"],
    ["a number", () => 1],
    ["a list", () => [{ owner: "ann" }]],
    ["an unknown operator", () => ({ owner: { $in: ["ann"] } })],
    ["an error of its own", () => Promise.reject(new TypeError("user.team is undefined"))],
  ])("fails closed on %s", async (_, handler) => {
    const { check } = await open(known().on("*", handler));
    await expect(check("threads", "read", {})).rejects.toMatchObject({ status: 500 });
  });
});
