// The files of threads, for real, in a folder that goes away with the test.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { createThreadFiles } from "../../src/files/thread-files.ts";

export async function temporaryFiles() {
  const dataDir = await mkdtemp(path.join(tmpdir(), "heddle-files-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  return Object.assign(createThreadFiles({ dataDir }), { dataDir });
}
