import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "./config.ts";
import { StartupError } from "./errors.ts";

let cwd = "";
const folders: string[] = [];
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), "heddle-config-"));
  folders.push(cwd);
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const write = (name: string, text: string) => writeFileSync(path.join(cwd, name), text);
const load = (env: Record<string, string> = {}) => loadConfig({ cwd, env });

function refusal(env: Record<string, string> = {}): StartupError {
  try {
    load(env);
  } catch (error) {
    if (error instanceof StartupError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("settings", () => {
  it("have defaults that work on a bare machine", () => {
    expect(load()).toMatchObject({
      host: "127.0.0.1",
      port: 2024,
      databaseUrl: undefined,
      models: [],
      sandbox: "auto",
    });
    expect(load().dataDir).toBe(path.join(cwd, ".heddle"));
  });

  it("come from .env, and the environment wins", () => {
    write(".env", "PORT=3000\nHOST=0.0.0.0\n");
    expect(load({ PORT: "4000" })).toMatchObject({ port: 4000, host: "0.0.0.0" });
  });

  it("are left out when they are empty", () => {
    expect(load({ PORT: "", DATABASE_URL: "", OPENAI_API_KEY: "", OPENAI_BASE_URL: "" })).toMatchObject({
      port: 2024,
      databaseUrl: undefined,
      models: [],
    });
  });

  it("of webhooks are checked, and the secret is never shown", () => {
    const WEBHOOK_ALLOW = "hooks.internal, 127.0.0.1,10.0.0.0/8,::1,fd00::/8";
    expect(load({ WEBHOOK_ALLOW }).webhookAllow).toEqual(WEBHOOK_ALLOW.split(/, ?/));
    for (const wrong of [
      "http://a.example",
      "10.0.0.0/33",
      "fd00::/129",
      "a.example:80",
      "10.0.0.0/8/8",
      "a b",
    ]) {
      expect(refusal({ WEBHOOK_ALLOW: wrong }).message).toMatch(/^WEBHOOK_ALLOW is /);
    }
    const key = Buffer.alloc(32, 7).toString("base64");
    for (const secret of [key, `whsec_${key}`])
      expect(load({ WEBHOOK_SECRET: secret }).webhookSecret).toBe(secret);
    for (const wrong of ["short", "not base64 at all, but quite long enough", key.slice(0, 20)]) {
      expect(refusal({ WEBHOOK_SECRET: wrong }).message).toMatch(
        /^WEBHOOK_SECRET is not valid, but must be /,
      );
    }
  });

  it("name themselves, what was found and what is allowed when they are wrong", () => {
    expect(refusal({ PORT: "70000" }).message).toBe(
      'PORT is "70000", but must be an integer from 0 to 65535.',
    );
    expect(refusal({ LEASE_SECONDS: "1" }).message).toBe(
      'LEASE_SECONDS is "1", but must be an integer from 3 to 3600.',
    );
  });

  it("hold a time with its unit", () => {
    const seconds = (EVENT_RETENTION: string) => load({ EVENT_RETENTION }).eventRetentionSeconds;
    expect(["30s", "5m", "24h", "7d", ""].map(seconds)).toEqual([30, 300, 86_400, 604_800, 86_400]);
    for (const wrong of ["24", "h", "0s", "-1h", "1.5h", "1w", "1h 5m", "3651d", "999999999d"]) {
      expect(refusal({ EVENT_RETENTION: wrong }).message).toContain("EVENT_RETENTION is");
    }
  });

  it("never show a password", () => {
    expect(refusal({ DATABASE_URL: "mysql://u:hunter2@h/d" }).message).not.toContain("hunter2");
  });

  it("cannot be changed afterwards", () => {
    const config = load();
    expect(() => Object.assign(config.title, { enabled: false })).toThrow(TypeError);
  });
});

describe("models", () => {
  it("are one from the environment: with a key, or with an endpoint that needs none", () => {
    expect(load({ OPENAI_API_KEY: "k" }).models).toMatchObject([
      { name: "gpt-5-mini", apiKey: "k", vision: true },
    ]);
    expect(load({ OPENAI_BASE_URL: "http://127.0.0.1:1/v1", MODEL: "m" }).models).toMatchObject([
      { name: "m", base_url: "http://127.0.0.1:1/v1", apiKey: undefined },
    ]);
  });

  it("are those of config.yaml, each with its own endpoint and key", () => {
    write(
      "config.yaml",
      "models:\n  - name: big\n  - name: small\n    base_url: http://127.0.0.1:9/v1\n    api_key_env: SMALL_KEY\n    vision: false\n",
    );
    const { models } = load({ OPENAI_API_KEY: "a", SMALL_KEY: "b" });
    expect(models).toMatchObject([
      { name: "big", apiKey: "a", vision: true },
      { name: "small", apiKey: "b", vision: false, base_url: "http://127.0.0.1:9/v1" },
    ]);
  });
});

describe("config.yaml", () => {
  it("may be missing, empty, or the example", () => {
    expect(load().title.max_words).toBe(8);
    write("config.yaml", "");
    expect(load().title).toMatchObject({ enabled: true, max_words: 8, max_chars: 80 });
    write("config.yaml", "title: {}\n");
    expect(load().title.max_chars).toBe(80);
  });

  it("must be there when it was asked for by another name", () => {
    expect(refusal({ CONFIG_FILE: "other.yaml" })).toMatchObject({ file: path.join(cwd, "other.yaml") });
    expect(() => load({ CONFIG_FILE: "config.yaml" })).not.toThrow();
  });

  it.each([
    ["title: [", "It is not YAML"],
    ["title:\n  max_words: 0\n", "title.max_words"],
    ["titles: {}\n", "titles"],
    ["models: []\n", "models"],
    ["models:\n  - model: x\n", "models.0.name"],
    ["- a\n", "expected object"],
  ])("is refused when it is wrong: %j", (text, expected) => {
    write("config.yaml", text);
    const error = refusal();
    expect(error.message).toContain(expected);
    expect(error.file).toBe(path.join(cwd, "config.yaml"));
  });
});
