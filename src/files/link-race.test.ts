// Another process keeps swapping a folder and a file for links to foreign ones while the server reads, lists and
// writes them. Checks of the path string lose this race; opened descriptors do not.
import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isAppError } from "../errors.ts";
import { HAS_DESCRIPTOR_PATHS } from "./directory.ts";
import { createThreadFiles } from "./thread-files.ts";

const SWAPS = 5_000;

// "made" is what the server's writes make; the swapper puts a link in its place and takes it away again.
const SWAPPER = `
  const fs = require("node:fs");
  const [workspace, foreign, swaps] = process.argv.slice(1);
  process.chdir(workspace);
  fs.symlinkSync(foreign, "folder-link");
  fs.symlinkSync(foreign + "/file", "file-link");
  for (let i = 0; i < Number(swaps); i += 1) {
    fs.renameSync("folder", "folder-kept"); fs.renameSync("folder-link", "folder");
    fs.renameSync("file", "file-kept"); fs.renameSync("file-link", "file");
    fs.renameSync("folder", "folder-link"); fs.renameSync("folder-kept", "folder");
    fs.renameSync("file", "file-link"); fs.renameSync("file-kept", "file");
    try { fs.renameSync("made", "unmade-" + i); } catch {}
    try { fs.symlinkSync(foreign, "made"); fs.unlinkSync("made"); } catch {}
  }
`;

it.runIf(HAS_DESCRIPTOR_PATHS)(
  "never reads, lists or writes a foreign byte while links are swapped in",
  async () => {
    const dataDir = await fs.mkdtemp(join(tmpdir(), "heddle-race-"));
    onTestFinished(() => fs.rm(dataDir, { recursive: true, force: true }));
    const files = createThreadFiles({ dataDir });
    await files.write("t", "/mnt/user-data/workspace/folder/file", "OWN");
    await files.write("t", "/mnt/user-data/workspace/file", "OWN");
    const foreign = join(dataDir, "foreign");
    await fs.mkdir(foreign);
    await fs.chmod(foreign, 0o777);
    await fs.writeFile(join(foreign, "file"), "FOREIGN");

    const workspace = join(dataDir, "threads/t/user-data/workspace");
    const swapper = spawn(process.execPath, ["-e", SWAPPER, workspace, foreign, String(SWAPS)], {
      stdio: "inherit",
    });
    const ended = once(swapper, "exit");
    const seen = { own: 0, refused: 0 };
    const attempt = async (work: () => Promise<string>) => {
      try {
        expect(await work()).toBe("OWN");
        seen.own += 1;
      } catch (error) {
        if (!isAppError(error)) throw error;
        seen.refused += 1;
      }
    };
    const at = (path: string) => `/mnt/user-data/workspace/${path}`;
    let turn = 0;
    while (swapper.exitCode === null) {
      turn += 1;
      await attempt(async () => (await files.read("t", at("folder/file"))).toString());
      await attempt(async () => (await files.read("t", at("file"))).toString());
      await attempt(async () => {
        const listed = await files.list("t", at("folder"));
        return listed.some((info) => info.size === "FOREIGN".length) ? "FOREIGN" : "OWN";
      });
      await attempt(async () => {
        await files.write("t", at(`made/new-${turn % 10}`), "x");
        return "OWN";
      });
    }
    expect(await ended).toEqual([0, null]);
    expect(await fs.readdir(foreign)).toEqual(["file"]);
    // Both answers, or the two processes never met and the test has shown nothing.
    expect(seen.own).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
  },
);
