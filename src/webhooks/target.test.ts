import { describe, expect, it } from "vitest";
import { toAllowed, toTarget } from "./target.ts";

const nothing = toAllowed([]);

describe("a target", () => {
  it.each([
    "https://example.com/hook?a=b",
    "http://example.com:8080/",
    "http://93.184.216.34/",
    "https://[2606:2800:220:1::1]/x",
  ])("is %s", (text) => expect(toTarget(text, nothing)).toEqual({ url: new URL(text) }));

  it.each([
    ["/hook", "/hook"],
    ["/a/../b?c=d#e", "/b?c=d"],
    ["/", "/"],
  ])("is the path %s on this server", (text, path) => expect(toTarget(text, nothing)).toEqual({ path }));

  it.each([
    "",
    "hook",
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "http://",
    "https://user:secret@example.com/",
    "https://user@example.com/",
    "//example.com/hook",
    "/\\example.com/hook",
    "/\t/example.com/hook",
    `https://example.com/${"x".repeat(2048)}`,
    // This machine and what is around it, in all the ways to write it.
    "http://localhost/",
    "http://LOCALHOST./",
    "http://api.localhost/",
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://0.0.0.0/",
    "http://0/",
    "http://10.1.2.3/",
    "http://172.31.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "http://[::]/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:a00:1]/",
    "http://[fd00::1]/",
    "http://[fe80::1]/",
  ])("is not %j", (text) =>
    expect(() => toTarget(text, nothing)).toThrow(expect.objectContaining({ code: "invalid_request" })),
  );

  it("inside is what is allowed, and nothing beside it", () => {
    const allowed = toAllowed(["Hooks.internal", "localhost", "127.0.0.1", "10.8.0.0/16", "fd00::/8"]);
    for (const host of [
      "hooks.internal",
      "localhost",
      "127.0.0.1",
      "10.8.3.4",
      "[fd12::1]",
      "[::ffff:7f00:1]",
    ]) {
      expect(toTarget(`http://${host}/`, allowed)).toEqual({ url: new URL(`http://${host}/`) });
    }
    for (const host of ["127.0.0.2", "10.9.0.1", "[fe80::1]", "api.localhost"]) {
      expect(() => toTarget(`http://${host}/`, allowed)).toThrow("WEBHOOK_ALLOW");
    }
  });
});
