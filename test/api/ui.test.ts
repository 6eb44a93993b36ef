// Generative UI: POST /ui/:agent and its files, through the official bundler.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";

const FOLDER = path.resolve(import.meta.dirname, "../fixtures/ui");
let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs: path.join(FOLDER, "langgraph.json"), env: { WORKERS: "0" } });
});
afterAll(() => heddle.close());

const ask = (agent: string, body: object, url = heddle.url) =>
  fetch(`${url}/ui/${agent}`, { method: "POST", body: JSON.stringify(body) });

describe("POST /ui/:agent", () => {
  it("gives the tags that load the components, from its first moment", async () => {
    const response = await ask("agent-alias", { name: "weather" });
    expect(response.headers.get("content-type")).toMatch(/^text\/html/);
    const { host } = new URL(heddle.url);
    expect(await response.text()).toBe(
      [
        `<link rel="stylesheet" href="http://${host}/ui/agent-alias/entrypoint.css" />`,
        `<script src="http://${host}/ui/agent-alias/entrypoint.js" onload='__LGUI_agent_alias.render("weather", "{{shadowRootId}}")'></script>`,
      ].join("\n"),
    );
  });

  it("lets nothing out of the attribute that it is written in", async () => {
    const text = await (await ask("agent-alias", { name: `'><script>alert("&")</script>` })).text();
    expect(text).not.toContain("<script>");
    expect(text).toContain(`render("&#39;&gt;&lt;script&gt;alert(\\"&amp;\\")&lt;/script&gt;"`);
    const host = await heddle.app.server.inject({
      method: "POST",
      url: "/ui/agent-alias",
      headers: { host: `a"><script>` },
      payload: { name: "weather" },
    });
    expect(host.body).toContain('href="/ui/agent-alias/entrypoint.css"');
  });

  it("is 404 for an agent without components, 422 without a name, 500 for components that cannot be bundled", async () => {
    const unknown = await ask("nobody", { name: "weather" });
    expect([unknown.status, await unknown.text()]).toEqual([404, 'UI not found for agent "nobody"']);
    expect((await ask("toString", { name: "weather" })).status).toBe(404);
    const nameless = await ask("agent-alias", {});
    expect([nameless.status, await nameless.text()]).toEqual([422, expect.stringContaining("body.name")]);
    for (const agent of ["broken", "outside"]) {
      const broken = await ask(agent, { name: "weather" });
      const reason = await broken.text();
      expect([broken.status, reason]).toEqual([500, expect.stringContaining(`"${agent}" cannot be bundled`)]);
      expect(reason).not.toContain(FOLDER);
    }
  });
});

describe("GET /ui/:agent/:basename", () => {
  const get = (file: string) => fetch(`${heddle.url}/ui/${file}`);

  it("gives the bundle, which takes shared packages from the client, and the styles", async () => {
    const script = await get("agent-alias/entrypoint.js");
    expect(script.headers.get("content-type")).toMatch(/^text\/javascript/);
    const text = await script.text();
    expect(text).toContain("Weather in");
    expect(text).toContain('globalThis[Symbol.for("LGUI_REQUIRE")]');
    const styles = await get("agent-alias/entrypoint.css");
    expect(styles.headers.get("content-type")).toMatch(/^text\/css/);
    expect(await styles.text()).toContain("tailwindcss");
  });

  it("is 404 for other files and agents", async () => {
    for (const file of ["agent-alias/ui.tsx", "agent-alias/..%2flanggraph.json", "nobody/entrypoint.js"]) {
      expect((await get(file)).status, file).toBe(404);
    }
  });

  it("needs no credentials, which a script tag cannot send; the tags do", async () => {
    const guarded = await startApp({
      graphs: path.join(FOLDER, "langgraph.json"),
      env: { WORKERS: "0", API_KEYS: "ada:key-of-ada" },
      beside: heddle,
    });
    try {
      expect((await ask("agent-alias", { name: "weather" }, guarded.url)).status).toBe(401);
      expect((await fetch(`${guarded.url}/ui/agent-alias/entrypoint.js`)).status).toBe(200);
    } finally {
      await guarded.close();
    }
  });
});

it("bundles again when a file changes, and is gone with disable_ui", async () => {
  // Beside the fixtures, since a component's packages are found from its folder.
  const folder = mkdtempSync(path.join(FOLDER, "..", "ui-changed-"));
  try {
    cpSync(path.join(FOLDER, "ui.tsx"), path.join(folder, "ui.tsx"));
    cpSync(path.join(FOLDER, "styles.css"), path.join(folder, "styles.css"));
    const project = (http: object) => {
      const file = path.join(folder, "langgraph.json");
      const graphs = { echo: "../graphs/echo.ts:graph" };
      writeFileSync(file, JSON.stringify({ graphs, ui: { agent: "./ui.tsx" }, http }));
      return file;
    };
    const changing = await startApp({ graphs: project({}), env: { WORKERS: "0" }, beside: heddle });
    try {
      const script = async () => (await fetch(`${changing.url}/ui/agent/entrypoint.js`)).text();
      expect(await script()).toContain("Weather in");
      writeFileSync(path.join(folder, "ui.tsx"), 'export default { weather: () => "Rain tomorrow" };');
      await vi.waitFor(async () => expect(await script()).toContain("Rain tomorrow"), { timeout: 30_000 });
    } finally {
      await changing.close();
    }
    const without = await startApp({
      graphs: project({ disable_ui: true }),
      env: { WORKERS: "0" },
      beside: heddle,
    });
    expect((await ask("agent", { name: "weather" }, without.url)).status).toBe(404);
    await without.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);
