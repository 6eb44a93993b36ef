// The embedded PostgreSQL's files: makes the cluster once, checks that it can be used.
import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { StartupError } from "../errors.ts";
import { type Launcher, loadBinaries, toLauncher } from "./postgres-binaries.ts";

/** The database user that owns all. */
export const CLUSTER_USER = "heddle";

export interface Cluster {
  readonly folder: string;
  readonly logFile: string;
  readonly password: string;
  readonly launcher: Launcher;
  readonly postgres: string;
}

/**
 * The cluster of a data directory, made if there is none.
 * @throws StartupError when the directory cannot be used or is of another version
 */
export async function prepareCluster(dataDir: string): Promise<Cluster> {
  const binaries = await loadBinaries();
  const folder = path.join(dataDir, "postgres");
  try {
    mkdirSync(dataDir, { recursive: true });
    const launcher = toLauncher(dataDir);
    if (!existsSync(path.join(folder, "PG_VERSION")))
      await initialise(dataDir, folder, binaries.initdb, launcher);
    const version = readFileSync(path.join(folder, "PG_VERSION"), "utf8").trim();
    if (version !== binaries.major) {
      throw new StartupError(
        `The data is of PostgreSQL ${version}; this Heddle brings PostgreSQL ${binaries.major}.`,
        {
          file: folder,
          next: `Move it with pg_dump of PostgreSQL ${version}, or start with another DATA_DIR.`,
        },
      );
    }
    return {
      folder,
      logFile: path.join(dataDir, "postgres.log"),
      password: readFileSync(path.join(folder, "heddle-password"), "utf8").trim(),
      launcher,
      postgres: binaries.postgres,
    };
  } catch (error) {
    if (error instanceof StartupError) throw error;
    throw new StartupError(`The data directory cannot be used: ${reason(error)}.`, {
      file: dataDir,
      next: `Check its rights (ls -ld ${dataDir}), or set DATA_DIR to a folder you own.`,
      cause: error,
    });
  }
}

/** Makes the cluster beside its place and renames it, so that a start killed in the middle leaves no half cluster. */
async function initialise(
  dataDir: string,
  folder: string,
  initdb: string,
  launcher: Launcher,
): Promise<void> {
  const draft = path.join(dataDir, `postgres.new-${process.pid}`);
  const passwordFile = path.join(dataDir, `postgres.password-${process.pid}`);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  writeFileSync(passwordFile, `${randomBytes(24).toString("base64url")}\n`, { mode: 0o600 });
  if (launcher.owner) {
    chownSync(draft, launcher.owner.uid, launcher.owner.gid);
    chownSync(passwordFile, launcher.owner.uid, launcher.owner.gid);
  }
  try {
    const child = launcher.spawn(
      initdb,
      [
        `--pgdata=${draft}`,
        `--username=${CLUSTER_USER}`,
        `--pwfile=${passwordFile}`,
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--locale=C",
        "--no-instructions",
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    const complaint = collect(child);
    const [code] = (await once(child, "exit")) as [number | null];
    if (code !== 0) {
      throw new StartupError(`PostgreSQL's initdb ended with code ${code}: ${lastLine(complaint())}.`, {
        file: dataDir,
        next: "Set DATABASE_URL to a PostgreSQL of your own, or DATA_DIR to another folder.",
      });
    }
    renameSync(passwordFile, path.join(draft, "heddle-password"));
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
    rmSync(passwordFile, { force: true });
  }
}

function collect(child: ChildProcess): () => string {
  let text = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-4_000);
  });
  return () => text;
}

/** What a program said last, without its full stop. */
export const lastLine = (text: string) => text.trim().split("\n").at(-1)?.replace(/\.$/, "") ?? "";
const reason = (error: unknown) => (error instanceof Error ? error.message : String(error));
