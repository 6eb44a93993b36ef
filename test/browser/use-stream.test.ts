// What user interfaces are built on, in a real browser: the hook `useStream` in its older and its newer form.
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { chromiumPath, startBrowser, type TestBrowser } from "./browser.ts";

const GRAPHS = path.resolve(import.meta.dirname, "../fixtures/browser/langgraph.json");

const texts = (page: Page, type: string) => page.locator(`li[data-type=${type}] > span`).allTextContents();
const lastAnswer = async (page: Page) => (await texts(page, "ai")).at(-1) ?? "";
const isLoading = (page: Page) => page.locator("main").getAttribute("data-loading");

async function press(page: Page, button: string, text = ""): Promise<void> {
  await page.fill("input", text);
  await page.getByRole("button", { name: button, exact: true }).first().click();
}

const HOOKS: { name: string; page: string; settings: Record<string, string> }[] = [
  { name: "@langchain/langgraph-sdk/react", page: "legacy", settings: {} },
  { name: "@langchain/react over SSE", page: "current", settings: {} },
  { name: "@langchain/react over WebSocket", page: "current", settings: { transport: "websocket" } },
];

describe.skipIf(chromiumPath === undefined)("useStream (skipped where there is no Chromium)", () => {
  let app: TestApp;
  let browser: TestBrowser;
  let page: Page;
  beforeAll(async () => {
    [app, browser] = await Promise.all([startApp({ graphs: GRAPHS }), startBrowser()]);
  });
  afterEach(() => page.close());
  afterAll(async () => {
    await browser.close();
    await app.close();
  });

  describe.each(HOOKS)("of $name", ({ page: name, settings }) => {
    const open = async () => {
      page = await browser.open(name, { url: app.url, assistant: "agent", ...settings });
    };

    it("sends a message and shows the answer", async () => {
      await open();
      await press(page, "Send", "hello");
      await expect.poll(() => texts(page, "ai")).toEqual(["1: hello"]);
      await press(page, "Send", "again");
      await expect.poll(() => texts(page, "ai")).toEqual(["1: hello", "3: again"]);
      expect(await texts(page, "human")).toEqual(["hello", "again"]);
      expect(await page.locator("pre").textContent()).toBe("");
    });

    it("shows an answer while it is being told", async () => {
      await open();
      await press(page, "Send", "tell");
      await expect.poll(() => lastAnswer(page)).toMatch(/^once/);
      const early = await lastAnswer(page);
      expect(await isLoading(page)).toBe("true");
      await expect.poll(() => lastAnswer(page)).toMatch(/thread once upon a time there was a thread $/);
      expect(early.length).toBeLessThan((await lastAnswer(page)).length);
      await expect.poll(() => isLoading(page)).toBe("false");
    });

    it("shows a tool's call and its result", async () => {
      await open();
      await press(page, "Send", "weather Paris");
      await expect.poll(() => lastAnswer(page)).toBe("3: sun in Paris");
      const calls = await page.locator("ul > li").allTextContents();
      expect(calls).toHaveLength(1);
      expect(calls[0]).toContain('weather {"city":"Paris"}');
      expect(calls[0]).toContain("sun in Paris");
    });

    it("stops at an interrupt and goes on with the answer", async () => {
      await open();
      await press(page, "Send", "ask");
      await expect.poll(() => page.locator("output").textContent()).toBe('"which one?"');
      await expect.poll(() => isLoading(page)).toBe("false");
      await press(page, "Resume", "the red one");
      await expect.poll(() => lastAnswer(page)).toBe("answered the red one");
      await expect.poll(() => page.locator("output").textContent()).toBe("");
    });

    it("is reloaded in the middle of an answer and shows the rest", async () => {
      await open();
      await press(page, "Send", "tell");
      await expect.poll(() => lastAnswer(page)).toMatch(/^once/);
      await page.reload();
      await page.waitForSelector("main");
      await expect.poll(() => lastAnswer(page)).toMatch(/thread once upon a time there was a thread $/);
      await expect.poll(() => isLoading(page)).toBe("false");
      expect(await texts(page, "human")).toEqual(["tell"]);
      expect(await texts(page, "ai")).toHaveLength(1);
    });

    it("stops a run", async () => {
      await open();
      await press(page, "Send", "tell");
      await expect.poll(() => lastAnswer(page)).toMatch(/^once/);
      await press(page, "Stop");
      await expect.poll(() => isLoading(page)).toBe("false");
      const thread = new URL(page.url()).searchParams.get("thread") ?? "";
      await expect
        .poll(async () => (await app.client.runs.list(thread)).map((run) => run.status))
        .toEqual(["interrupted"]);
    });

    it("branches off at an earlier message", async () => {
      await open();
      await press(page, "Send", "one");
      await expect.poll(() => texts(page, "ai")).toEqual(["1: one"]);
      await press(page, "Send", "two");
      await expect.poll(() => texts(page, "ai")).toEqual(["1: one", "3: two"]);
      await expect.poll(() => isLoading(page)).toBe("false");
      await page.fill("input", "other");
      await page.getByRole("button", { name: "Edit" }).last().click();
      await expect.poll(() => texts(page, "ai")).toEqual(["1: one", "3: other"]);
      expect(await texts(page, "human")).toEqual(["one", "other"]);
    });
  });
});
