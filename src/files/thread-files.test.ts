// Real files in a temporary folder; every test runs on both ways of holding a directory.
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ListOptions, ThreadFiles } from "../kit/thread-files.ts";
import { HAS_DESCRIPTOR_PATHS } from "./directory.ts";
import { createThreadFiles } from "./thread-files.ts";

const ways = HAS_DESCRIPTOR_PATHS ? [true, false] : [false];
const isRoot = process.getuid?.() === 0;
const shell = (script: string, path: string) => execFileSync("sh", ["-c", script, path]);

describe.each(ways)("thread files (by descriptor: %s)", (byDescriptor) => {
  let dataDir: string;
  let files: ThreadFiles;
  let thread: string;
  const onDisk = (path: string) => join(dataDir, "threads", thread, "user-data", path);

  beforeEach(async () => {
    dataDir = await fs.mkdtemp(join(tmpdir(), "heddle-files-"));
    files = createThreadFiles({ dataDir, byDescriptor });
    thread = randomUUID();
  });
  afterEach(() => fs.rm(dataDir, { recursive: true, force: true }));

  async function failure(work: Promise<unknown>): Promise<{ code?: string; message: string }> {
    const error = await work.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof Error)) return expect.unreachable("it did not fail");
    expect(error.message).not.toContain(dataDir);
    return error;
  }

  it("says where the folders lie, relative to the data directory, and creates nothing", async () => {
    expect(files.paths(thread)).toEqual({
      workspace_path: `threads/${thread}/user-data/workspace`,
      uploads_path: `threads/${thread}/user-data/uploads`,
      outputs_path: `threads/${thread}/user-data/outputs`,
    });
    expect(await fs.readdir(dataDir)).toEqual([]);
  });

  it("takes the three folders of a new thread for empty", async () => {
    expect(await files.list(thread, "/mnt/user-data/uploads")).toEqual([]);
    expect(await files.list(thread, "/mnt/user-data")).toEqual([]);
    expect(await files.stat(thread, "/mnt/user-data/outputs/x")).toBeUndefined();
    await files.ensure(thread);
    await files.ensure(thread);
    const paths = (await files.list(thread, "/mnt/user-data")).map((info) => info.path);
    expect(paths).toEqual(["/mnt/user-data/outputs", "/mnt/user-data/uploads", "/mnt/user-data/workspace"]);
  });

  it("writes, reads, replaces, appends and removes", async () => {
    const path = "/mnt/user-data/workspace/a/b/notes.txt";
    const info = await files.write(thread, path, "one\n");
    expect(info).toMatchObject({ path, name: "notes.txt", type: "file", size: 4 });
    await files.write(thread, path, Buffer.from("two\n"));
    await files.write(thread, path, "drei – 3\n", { append: true });
    expect((await files.read(thread, path)).toString()).toBe("two\ndrei – 3\n");
    expect(await files.stat(thread, path)).toMatchObject({ type: "file", size: 15 });
    expect(await files.remove(thread, path)).toBe(true);
    expect(await files.remove(thread, path)).toBe(false);
    expect((await failure(files.read(thread, path))).code).toBe("file_not_found");
  });

  it("appends to a file that is not there yet", async () => {
    await files.write(thread, "/mnt/user-data/workspace/log", "x", { append: true });
    expect((await files.read(thread, "/mnt/user-data/workspace/log")).toString()).toBe("x");
  });

  it("keeps an executable file executable", async () => {
    const path = "/mnt/user-data/workspace/run.sh";
    await files.write(thread, path, "#!/bin/sh\n");
    await fs.chmod(onDisk("workspace/run.sh"), 0o755);
    await files.write(thread, path, "#!/bin/sh\necho\n");
    expect((await fs.stat(onDisk("workspace/run.sh"))).mode & 0o777).toBe(0o755);
  });

  it("streams a range, both ends included", async () => {
    const path = "/mnt/user-data/outputs/digits";
    await files.write(thread, path, "0123456789");
    const file = await files.open(thread, path);
    expect(file.info.size).toBe(10);
    expect(await text(file.stream({ start: 2, end: 4 }))).toBe("234");
    expect(await text((await files.open(thread, path)).stream())).toBe("0123456789");
  });

  it("lists in one order, each folder before its contents, down to the depth and the limit", async () => {
    for (const path of ["b.txt", "a/2", "a/1", "a/deep/x", "a-b", "Z"]) {
      await files.write(thread, `/mnt/user-data/workspace/${path}`, path);
    }
    const names = async (options?: ListOptions) =>
      (await files.list(thread, "/mnt/user-data/workspace", options)).map((info) =>
        info.path.replace("/mnt/user-data/workspace/", ""),
      );
    expect(await names()).toEqual(["Z", "a", "a-b", "b.txt"]);
    expect(await names({ depth: 2 })).toEqual(["Z", "a", "a/1", "a/2", "a/deep", "a-b", "b.txt"]);
    expect(await names({ depth: 2, skip: new Set(["a"]) })).toEqual(["Z", "a-b", "b.txt"]);
    expect(await names({ depth: 99, limit: 5 })).toEqual(["Z", "a", "a/1", "a/2", "a/deep"]);
    expect((await failure(files.list(thread, "/mnt/user-data/workspace/b.txt"))).code).toBe("file_not_found");
    expect((await failure(files.list(thread, "/mnt/user-data/workspace/no"))).code).toBe("file_not_found");
  });

  it("gives a second file of the same name a number, also when both come at once", async () => {
    const path = "/mnt/user-data/uploads/data.csv";
    const infos = await Promise.all(
      ["a", "b", "c"].map((content) => files.write(thread, path, content, { overwrite: false })),
    );
    expect(infos.map((info) => info.name).sort()).toEqual(["data (2).csv", "data (3).csv", "data.csv"]);
    for (const [index, info] of infos.entries()) {
      expect((await files.read(thread, info.path)).toString()).toBe("abc"[index]);
    }
  });

  it("loses none of many parallel appends and updates", async () => {
    const path = "/mnt/user-data/workspace/counter";
    await files.write(thread, path, "");
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? files.write(thread, path, "+", { append: true })
          : files.update(thread, path, (content) => `${content}+`),
      ),
    );
    expect((await files.read(thread, path)).toString()).toBe("+".repeat(20));
  });

  it("leaves the old file and nothing else behind when a write fails", async () => {
    const path = "/mnt/user-data/uploads/x";
    await files.write(thread, path, "old");
    async function* breaksOff() {
      yield Buffer.from("new, but");
      throw new Error("socket hang up");
    }
    expect((await failure(files.write(thread, path, breaksOff()))).code).toBe("upload_incomplete");
    const tooLarge = files.write(thread, path, "x".repeat(11), { maxBytes: 10 });
    expect((await failure(tooLarge)).code).toBe("payload_too_large");
    const grown = files.write(thread, path, "x".repeat(8), { maxBytes: 10, append: true });
    expect((await failure(grown)).code).toBe("payload_too_large");
    const refused = files.update(thread, path, () => {
      throw new Error("not unique");
    });
    expect((await failure(refused)).message).toBe("not unique");
    expect((await files.read(thread, path)).toString()).toBe("old");
    expect(await fs.readdir(join(dataDir, "threads", thread, "incoming"))).toEqual([]);
    expect(await fs.readdir(onDisk("uploads"))).toEqual(["x"]);
  });

  it("sweeps what a crashed writer left, and leaves a running upload alone", async () => {
    await files.write(thread, "/mnt/user-data/uploads/x", "x");
    const incoming = join(dataDir, "threads", thread, "incoming");
    for (const name of ["old", "young"]) await fs.writeFile(join(incoming, name), "half");
    const longAgo = new Date(Date.now() - 2 * 60 * 60 * 1000);
    await fs.utimes(join(incoming, "old"), longAgo, longAgo);
    await files.write(thread, "/mnt/user-data/uploads/y", "y");
    expect(await fs.readdir(incoming)).toEqual(["young"]);
  });

  it("reads no more than it is told to", async () => {
    const path = "/mnt/user-data/workspace/big";
    await files.write(thread, path, "12345");
    expect((await failure(files.read(thread, path, { maxBytes: 4 }))).code).toBe("payload_too_large");
    expect((await files.read(thread, path, { maxBytes: 5 })).length).toBe(5);
  });

  it("follows no link, to a file or to a folder, wherever it stands in the path", async () => {
    await files.ensure(thread);
    const secret = join(dataDir, "secret");
    await fs.mkdir(secret);
    await fs.writeFile(join(secret, "file"), "SECRET");
    await fs.symlink(join(secret, "file"), onDisk("workspace/to-file"));
    await fs.symlink(secret, onDisk("workspace/to-folder"));
    await fs.symlink("../../../../../secret/file", onDisk("workspace/relative"));
    const at = (path: string) => `/mnt/user-data/workspace/${path}`;
    expect((await failure(files.read(thread, at("to-file")))).code).toBe("file_not_regular");
    expect((await failure(files.read(thread, at("relative")))).code).toBe("file_not_regular");
    expect((await failure(files.open(thread, at("to-folder/file")))).code).toBe("path_outside");
    expect((await failure(files.list(thread, at("to-folder")))).code).toBe("path_outside");
    expect((await failure(files.write(thread, at("to-folder/new"), "x"))).code).toBe("path_outside");
    expect((await failure(files.remove(thread, at("to-folder/file")))).code).toBe("path_outside");
    const appended = files.write(thread, at("to-file"), "x", { append: true });
    expect((await failure(appended)).code).toBe("file_not_regular");
    expect(await files.list(thread, "/mnt/user-data/workspace", { depth: 5 })).toEqual([]);
    // Writing puts a file where the link was; what the link pointed to stays.
    await files.write(thread, at("to-file"), "mine");
    expect(await fs.readFile(join(secret, "file"), "utf8")).toBe("SECRET");
    expect(await fs.readdir(secret)).toEqual(["file"]);
  });

  it("refuses one of the three folders that has become a link", async () => {
    await files.ensure(thread);
    await fs.rmdir(onDisk("outputs"));
    await fs.symlink(dataDir, onDisk("outputs"));
    expect((await failure(files.list(thread, "/mnt/user-data/outputs"))).code).toBe("path_outside");
  });

  it("refuses folders, hard links, FIFOs, sockets and devices, and hangs on none", async () => {
    await files.ensure(thread);
    const secret = join(dataDir, "secret");
    await fs.writeFile(secret, "SECRET");
    await fs.link(secret, onDisk("outputs/hard"));
    await fs.mkdir(onDisk("outputs/folder"));
    shell("mkfifo $0", onDisk("outputs/fifo"));
    if (isRoot) shell("mknod $0 c 1 5", onDisk("outputs/device"));
    for (const name of ["hard", "folder", "fifo", ...(isRoot ? ["device"] : [])]) {
      const path = `/mnt/user-data/outputs/${name}`;
      expect((await failure(files.read(thread, path))).code, name).toBe("file_not_regular");
      expect((await failure(files.open(thread, path))).code, name).toBe("file_not_regular");
      const appended = files.write(thread, path, "x", { append: true });
      expect((await failure(appended)).code, name).toBe("file_not_regular");
    }
    expect((await failure(files.write(thread, "/mnt/user-data/outputs/folder", "x"))).code).toBe(
      "file_not_regular",
    );
    expect((await failure(files.read(thread, "/mnt/user-data/outputs"))).code).toBe("file_not_regular");
    expect((await failure(files.write(thread, "/mnt/user-data", "x"))).code).toBe("file_not_regular");
  });

  it("refuses what is not a thread id", async () => {
    for (const id of ["", "..", "../x", "a/b", ".", "a\0", "x".repeat(65), "-rf"]) {
      expect((await failure(files.ensure(id))).code, id).toBe("invalid_request");
      expect(() => files.paths(id), id).toThrow(expect.objectContaining({ code: "invalid_request" }));
    }
  });

  it("removes everything of a thread, however deep, unreadable or oddly named", async () => {
    await files.write(thread, "/mnt/user-data/workspace/x", "x");
    const outside = join(dataDir, "outside");
    await fs.mkdir(outside);
    await fs.writeFile(join(outside, "kept"), "kept");
    await fs.symlink(outside, onDisk("workspace/link"));
    await fs.mkdir(onDisk(`workspace/${"d/".repeat(1900)}`), { recursive: true });
    shell(
      "cd $0 && mkdir closed && touch closed/x $(printf 'bad\\377name') && chmod 0 closed",
      onDisk("workspace"),
    );
    await files.removeThread(thread);
    await files.removeThread(thread);
    expect(await fs.readdir(join(dataDir, "threads"))).toEqual([]);
    expect(await fs.readdir(join(dataDir, "trash"))).toEqual([]);
    expect(await fs.readdir(outside)).toEqual(["kept"]);
  });

  it.runIf(isRoot)(
    "answers storage_full on a full disk, keeps the old file and leaves no half one",
    async () => {
      await files.ensure(thread);
      const disk = join(dataDir, "threads", thread);
      shell("mount -t tmpfs -o size=256k tmpfs $0", disk);
      try {
        const path = "/mnt/user-data/uploads/x";
        await files.write(thread, path, "old");
        const full = files.write(thread, path, Buffer.alloc(512 * 1024, 1));
        expect((await failure(full)).code).toBe("storage_full");
        expect((await files.read(thread, path)).toString()).toBe("old");
        expect(await fs.readdir(join(disk, "incoming"))).toEqual([]);
        await files.write(thread, path, "works again");
      } finally {
        shell("umount $0", disk);
      }
    },
  );

  it.runIf(isRoot)("gives the files to an unprivileged owner when the server is root", async () => {
    await files.write(thread, "/mnt/user-data/workspace/a/x", "x");
    for (const path of ["workspace", "workspace/a", "workspace/a/x", "outputs"]) {
      if (path === "outputs") await files.ensure(thread);
      expect((await fs.stat(onDisk(path))).uid, path).toBe(65534);
    }
    expect((await fs.stat(join(dataDir, "threads", thread))).mode & 0o777).toBe(0o700);
  });
});
