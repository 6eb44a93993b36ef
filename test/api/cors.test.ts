// Which pages may call: http.cors of langgraph.json, CORS_ORIGINS without it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";

const GRAPH = path.resolve(import.meta.dirname, "../fixtures/graphs/echo.ts:graph");
let first: TestApp;
beforeAll(async () => {
  first = await startApp({ env: { WORKERS: "0" } });
});
afterAll(() => first.close());

async function withCors(cors: object, env: Record<string, string>, use: (url: string) => Promise<void>) {
  const folder = mkdtempSync(path.join(tmpdir(), "heddle-cors-"));
  const file = path.join(folder, "langgraph.json");
  writeFileSync(file, JSON.stringify({ graphs: { echo: GRAPH }, http: { cors } }));
  try {
    const app = await startApp({ graphs: file, env: { WORKERS: "0", ...env }, beside: first });
    await use(app.url).finally(() => app.close());
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const ask = (url: string, origin: string) => fetch(`${url}/info`, { headers: { origin } });
const preflight = (url: string, origin: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/threads`, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,x-api-key",
      ...headers,
    },
  });
const allowed = (response: Response) => response.headers.get("access-control-allow-origin");
const EXPOSED = "content-location, etag, location, x-pagination-total, x-pagination-next";

describe("without http.cors", () => {
  it("any page may call, read what the SDKs read, and ask for a server in its own network", async () => {
    const info = await ask(first.url, "https://a.example");
    expect(allowed(info)).toBe("*");
    expect(info.headers.get("access-control-expose-headers")).toBe(EXPOSED);
    expect(info.headers.get("access-control-allow-credentials")).toBeNull();
    const asked = await preflight(first.url, "https://a.example", {
      "access-control-request-private-network": "true",
    });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-methods")).toBe(
      "GET, HEAD, PUT, POST, DELETE, PATCH, QUERY",
    );
    expect(asked.headers.get("access-control-allow-headers")).toBe("content-type,x-api-key");
    expect(asked.headers.get("vary")).toMatch(/access-control-request-headers/i);
    expect(asked.headers.get("access-control-allow-private-network")).toBe("true");
    expect(
      (await preflight(first.url, "https://a.example")).headers.get("access-control-max-age"),
    ).toBeNull();
  });

  it("CORS_ORIGINS names the pages", () =>
    withCors({}, { CORS_ORIGINS: "https://a.example,https://b.example" }, async (url) => {
      const info = await ask(url, "https://b.example");
      expect(allowed(info)).toBe("https://b.example");
      expect(info.headers.get("vary")).toMatch(/origin/i);
      expect(allowed(await ask(url, "https://c.example"))).toBeNull();
    }));
});

describe("http.cors", () => {
  it("says origins, methods, headers, credentials, age and what is exposed", () =>
    withCors(
      {
        allow_origins: ["https://a.example"],
        allow_methods: ["GET", "POST"],
        allow_headers: ["x-mine"],
        allow_credentials: true,
        expose_headers: ["X-Mine", "Content-Location"],
        max_age: 60,
      },
      { CORS_ORIGINS: "*" },
      async (url) => {
        const info = await ask(url, "https://a.example");
        expect(allowed(info)).toBe("https://a.example");
        expect(info.headers.get("access-control-allow-credentials")).toBe("true");
        expect(info.headers.get("access-control-expose-headers")).toBe(
          "x-mine, content-location, etag, location, x-pagination-total, x-pagination-next",
        );
        expect(allowed(await ask(url, "https://b.example"))).toBeNull();
        const asked = await preflight(url, "https://a.example");
        expect(asked.headers.get("access-control-allow-methods")).toBe("GET, POST");
        expect(asked.headers.get("access-control-allow-headers")).toBe("x-mine");
        expect(asked.headers.get("access-control-max-age")).toBe("60");
      },
    ));

  it("has a pattern that wins over the list and matches the whole origin", () =>
    withCors({ allow_origins: ["*"], allow_origin_regex: "https://.*\\.example" }, {}, async (url) => {
      expect(allowed(await ask(url, "https://a.example"))).toBe("https://a.example");
      expect(allowed(await ask(url, "https://a.example.evil"))).toBeNull();
      expect(allowed(await ask(url, "http://a.example"))).toBeNull();
    }));

  it("with a pattern that is none ends the start", async () => {
    await expect(withCors({ allow_origin_regex: "(" }, {}, async () => undefined)).rejects.toThrow(
      /http\.cors\.allow_origin_regex: Invalid regular expression/,
    );
  });
});
