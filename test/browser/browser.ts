// A real browser with the page of the tests, bundled and served from an origin of its own.
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { build } from "esbuild";
import { type Browser, chromium, type Page } from "playwright-core";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Where the browser is; undefined: the tests are skipped. */
export const chromiumPath = process.env.CHROMIUM ?? CHROMIUM.find((file) => existsSync(file));

export interface TestBrowser {
  /** A new page of `legacy` or `current`, with these settings in its address. */
  open(name: string, settings: Record<string, string>): Promise<Page>;
  close(): Promise<void>;
}

export async function startBrowser(): Promise<TestBrowser> {
  const scripts = new Map<string, string>();
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const script = scripts.get(pathname);
    if (script !== undefined) return void response.setHeader("content-type", "text/javascript").end(script);
    response.setHeader("content-type", "text/html");
    response.end(`<!doctype html><div id="root"></div><script type="module" src="${pathname}.js"></script>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser: Browser = await chromium.launch({
    ...(chromiumPath ? { executablePath: chromiumPath } : {}),
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  return {
    async open(name, settings) {
      if (!scripts.has(`/${name}.js`)) scripts.set(`/${name}.js`, await bundle(name));
      const page = await browser.newPage();
      await page.goto(`${origin}/${name}?${new URLSearchParams(settings)}`);
      await page.waitForSelector("main");
      return page;
    },
    async close() {
      await browser.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bundle(name: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [path.join(import.meta.dirname, "pages", `${name}.tsx`)],
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"', "process.env": "{}" },
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}
