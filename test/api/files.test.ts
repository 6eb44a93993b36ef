// Uploads and artifacts over HTTP.
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";

let heddle: TestApp;
let threadId: string;
beforeAll(async () => {
  heddle = await startApp({ env: { MAX_UPLOAD_MB: "1" } });
  threadId = (await heddle.client.threads.create()).thread_id;
});
afterAll(() => heddle.close());

const folder = (name: string, thread = threadId) =>
  path.join(heddle.dataDir, "threads", thread, "user-data", name);
const stored = (thread = threadId) =>
  existsSync(folder("uploads", thread)) ? readdirSync(folder("uploads", thread)) : [];

async function upload(files: [string, string | Uint8Array][], { thread = threadId, field = "files" } = {}) {
  const form = new FormData();
  for (const [name, content] of files)
    form.append(field, new Blob([content as Uint8Array<ArrayBuffer>]), name);
  const response = await fetch(`${heddle.url}/threads/${thread}/uploads`, { method: "POST", body: form });
  type Body = { files: { filename: string }[]; error: { code: string; message: string } };
  return { status: response.status, body: (await response.json()) as Body };
}

/** A multipart body as bytes, for names that FormData would change. */
async function uploadRaw(disposition: string, thread = threadId) {
  const body = `--x\r\ncontent-disposition: form-data; name="files"; ${disposition}\r\n\r\ndata\r\n--x--\r\n`;
  const response = await fetch(`${heddle.url}/threads/${thread}/uploads`, {
    method: "POST",
    headers: { "content-type": "multipart/form-data; boundary=x" },
    body,
  });
  return {
    status: response.status,
    body: (await response.json()) as { error?: { code: string; message: string } },
  };
}

describe("uploads", () => {
  it("are kept, listed and removed, several at once", async () => {
    const { thread_id: thread } = await heddle.client.threads.create();
    const answer = await upload(
      [
        ["data.csv", "a,b\n1,2\n"],
        ["Röntgen (1).png", "png"],
      ],
      { thread },
    );
    expect(answer).toEqual({
      status: 200,
      body: {
        files: [
          { filename: "data.csv", size: 8, path: "/mnt/user-data/uploads/data.csv", extension: ".csv" },
          {
            filename: "Röntgen (1).png",
            size: 3,
            path: "/mnt/user-data/uploads/Röntgen (1).png",
            extension: ".png",
          },
        ],
      },
    });
    const url = `${heddle.url}/threads/${thread}/uploads`;
    const listed = (await (await fetch(url)).json()) as { files: unknown[] };
    expect(listed.files).toEqual(expect.arrayContaining(answer.body.files));
    expect(listed.files).toHaveLength(2);
    const removed = await fetch(`${url}/${encodeURIComponent("Röntgen (1).png")}`, { method: "DELETE" });
    expect(removed.status).toBe(204);
    expect(stored(thread)).toEqual(["data.csv"]);
    expect((await fetch(`${url}/gone.txt`, { method: "DELETE" })).status).toBe(404);
  });

  it("never replace one another", async () => {
    const { thread_id: thread } = await heddle.client.threads.create();
    const { body } = await upload(
      [
        ["a.txt", "one"],
        ["a.txt", "two"],
      ],
      { thread },
    );
    expect(body.files.map((file) => file.filename)).toEqual(["a.txt", "a (2).txt"]);
    expect(readFileSync(path.join(folder("uploads", thread), "a.txt"), "utf8")).toBe("one");
  });

  it("are all there or none: one that is too large takes the others with it", async () => {
    const before = stored();
    const answer = await upload([
      ["small.txt", "x"],
      ["large.bin", randomBytes(1024 * 1024 + 1)],
    ]);
    expect(answer).toMatchObject({ status: 413, body: { error: { code: "payload_too_large" } } });
    expect(answer.body.error.message).toContain("MAX_UPLOAD_MB");
    expect(stored()).toEqual(before);
  });

  it("may be exactly as large as the limit", async () => {
    const { thread_id: thread } = await heddle.client.threads.create();
    expect((await upload([["edge.bin", randomBytes(1024 * 1024)]], { thread })).status).toBe(200);
  });

  it.each([
    ["a path", 'filename="../../evil.txt"'],
    ["an absolute path", 'filename="/etc/passwd"'],
    ["a Windows path", 'filename="..\\\\..\\\\evil.txt"'],
    ["a NUL", "filename*=UTF-8''a%00b.txt"],
    ["4 KiB", `filename="${"a".repeat(4096)}.txt"`],
    ["nothing", 'filename=""'],
    ["two dots", 'filename=".."'],
    ["a line break", "filename*=UTF-8''a%0Ab.txt"],
    ["a right-to-left override", "filename*=UTF-8''a%E2%80%AEtxt.exe"],
  ])("are refused under a name that is %s", async (_what, disposition) => {
    const before = stored();
    const { status, body } = await uploadRaw(disposition);
    expect([400, 422]).toContain(status);
    expect(body.error?.code).toMatch(/invalid_file_name|invalid_request|path_outside/);
    expect(stored()).toEqual(before);
    expect(existsSync(path.join(heddle.dataDir, "evil.txt"))).toBe(false);
  });

  it("are refused in another field, without a file, as JSON, and on an unknown thread", async () => {
    const before = stored();
    expect(await upload([["a.txt", "x"]], { field: "file" })).toMatchObject({ status: 422 });
    expect(await upload([])).toMatchObject({ status: 422 });
    const json = await fetch(`${heddle.url}/threads/${threadId}/uploads`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"files":{"file":1,"buffer":"x"}}',
    });
    expect(json.status).toBe(415);
    expect(await upload([["a.txt", "x"]], { thread: randomUUID() })).toMatchObject({ status: 404 });
    expect(stored()).toEqual(before);
  });

  it.each([
    [
      "end too early",
      "; boundary=x",
      '--x\r\ncontent-disposition: form-data; name="files"; filename="[]"\r\n\r\n',
      400,
    ],
    [
      "end within a file",
      "; boundary=x",
      '--x\r\ncontent-disposition: form-data; name="files"; filename="a"\r\n\r\nabc',
      400,
    ],
    ["name no boundary", "", "--x", 415],
  ])("are refused when they %s", async (_what, boundary, content, status) => {
    const before = stored();
    const response = await fetch(`${heddle.url}/threads/${threadId}/uploads`, {
      method: "POST",
      headers: { "content-type": `multipart/form-data${boundary}` },
      body: content,
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringMatching(/boundary|before all of it had arrived|incomplete/i) },
    });
    expect(stored()).toEqual(before);
  });

  it("are refused when there are too many", async () => {
    const before = stored();
    const many = Array.from({ length: 11 }, (_, i): [string, string] => [`${i}.txt`, "x"]);
    expect(await upload(many)).toMatchObject({
      status: 413,
      body: { error: { details: { max_files: 10 } } },
    });
    expect(stored()).toEqual(before);
  });

  it("leave nothing behind when the client goes away in the middle", async () => {
    const before = stored();
    const { port } = new URL(heddle.url);
    const socket = connect(Number(port), "127.0.0.1");
    const head = `--x\r\ncontent-disposition: form-data; name="files"; filename="half.bin"\r\n\r\n${"a".repeat(70_000)}`;
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.write(
      `POST /threads/${threadId}/uploads HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=x\r\ncontent-length: 900000\r\n\r\n${head}`,
      () => resolve(),
    );
    await promise;
    socket.destroy();
    // The server answers the next request on this thread only when it has dropped the first.
    await expect
      .poll(async () => {
        await fetch(`${heddle.url}/ok`);
        return readdirSync(path.join(heddle.dataDir, "threads", threadId), { recursive: true }).filter(
          (name) => /half|staged|part|incoming.+/.test(String(name)),
        );
      })
      .toEqual([]);
    expect(stored()).toEqual(before);
  });
});

describe("artifacts", () => {
  const get = (file: string, init: RequestInit = {}) =>
    fetch(`${heddle.url}/threads/${threadId}/artifacts/mnt/user-data/${file}`, init);

  beforeAll(() => {
    mkdirSync(folder("outputs"), { recursive: true });
    mkdirSync(folder("workspace"), { recursive: true });
    writeFileSync(path.join(folder("outputs"), "report.md"), "0123456789");
    writeFileSync(path.join(folder("outputs"), "empty.txt"), "");
    writeFileSync(path.join(folder("outputs"), "page.html"), "<script>1</script>");
    writeFileSync(path.join(folder("outputs"), "Bericht 'ä'.csv"), "a");
    writeFileSync(path.join(folder("workspace"), "notes.txt"), "n");
    symlinkSync("/etc/passwd", path.join(folder("outputs"), "link.txt"));
  });

  it("are downloaded whole", async () => {
    const response = await get("outputs/report.md");
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("0123456789");
    expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    expect(response.headers.get("content-disposition")).toBe("inline; filename*=UTF-8''report.md");
    expect(response.headers.get("content-length")).toBe("10");
    expect(await (await get("workspace/notes.txt")).text()).toBe("n");
    expect(await (await get("outputs/empty.txt")).text()).toBe("");
  });

  it.each([
    ["bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=-3", 206, "789", "bytes 7-9/10"],
    ["bytes=0-99", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=5-2", 200, "0123456789", null],
    ["bytes=0-1,4-5", 200, "0123456789", null],
    ["lines=1-2", 200, "0123456789", null],
  ])("are downloaded in part: %s", async (range, status, text, contentRange) => {
    const response = await get("outputs/report.md", { headers: { range } });
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(text);
    expect(response.headers.get("content-range")).toBe(contentRange);
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("have no part beyond their end", async () => {
    const response = await get("outputs/report.md", { headers: { range: "bytes=10-" } });
    expect(response.status).toBe(416);
    expect(await response.json()).toMatchObject({
      error: { code: "range_not_satisfiable", details: { size: 10 } },
    });
  });

  it("never run in the browser that shows them", async () => {
    const response = await get("outputs/page.html");
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect(response.headers.get("content-disposition")).toMatch(/^attachment;/);
    expect(response.headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("cross-origin-resource-policy")).toBe("same-origin");
    await response.text();
    expect((await get("outputs/report.md?download=1")).headers.get("content-disposition")).toMatch(
      /^attachment;/,
    );
  });

  it("may have any name", async () => {
    const response = await get(`outputs/${encodeURIComponent("Bericht 'ä'.csv")}`);
    expect(await response.text()).toBe("a");
    expect(response.headers.get("content-disposition")).toBe(
      "inline; filename*=UTF-8''Bericht%20%27%C3%A4%27.csv",
    );
  });

  it.each([
    ["a link", "outputs/link.txt", /^4/],
    ["a folder", "outputs", /^400/],
    ["an upload", "uploads/data.csv", /^400/],
    ["a path that climbs", "outputs/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd", /^400/],
    ["a path with a NUL", "outputs/a%00.txt", /^400/],
    ["a file that is not there", "outputs/none.txt", /^404/],
  ])("are not %s", async (_what, file, status) => {
    const response = await get(file);
    const text = await response.text();
    expect(`${response.status} ${text}`).toMatch(status);
    expect(text).toMatch(/"code":"(path_outside|file_not_found|file_not_regular|invalid_file_name)"/);
    expect(text).not.toContain("root:");
    expect(text).not.toContain(heddle.dataDir);
  });

  it("of an unknown thread are not found", async () => {
    const response = await fetch(
      `${heddle.url}/threads/${randomUUID()}/artifacts/mnt/user-data/outputs/report.md`,
    );
    expect(response.status).toBe(404);
  });
});
