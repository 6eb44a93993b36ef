// Adds to package-lock.json the optional platform packages that the registry this machine sees does not offer
// (a mirror may hold only some platforms). npm leaves them out of the lockfile, and `npm ci` then refuses it
// everywhere. Such a package only ever installs on its own platform, so its os and cpu, which its name states, are
// enough. Run it after every `npm install`: `npm run lockfile`.
import { readFileSync, writeFileSync } from "node:fs";

interface LockEntry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const OS = [
  "darwin",
  "linux",
  "win32",
  "windows",
  "android",
  "freebsd",
  "netbsd",
  "openbsd",
  "openharmony",
  "sunos",
  "aix",
  "wasi",
  "wasm32",
];
const CPU = ["arm64", "x64", "ia32", "ppc64", "riscv64", "s390x", "loong64", "mips64el", "wasm32", "arm"];

const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, LockEntry> };

function platform(name: string): Pick<LockEntry, "os" | "cpu" | "libc"> {
  const words = name.split(/[^a-z0-9]+/);
  const os = OS.find((word) => words.includes(word));
  const cpu = CPU.find((word) => words.includes(word));
  if (!os) throw new Error(`${name}: cannot tell its platform from its name`);
  const known = os === "windows" ? "win32" : os === "wasm32" ? "wasi" : os;
  return {
    ...(cpu ? { cpu: [cpu] } : {}),
    os: [known],
    ...(words.includes("musl") ? { libc: ["musl"] } : {}),
  };
}

let added = 0;
for (const [parent, entry] of Object.entries({ ...lock.packages })) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const found =
      `node_modules/${name}` in lock.packages || `${parent}/node_modules/${name}` in lock.packages;
    if (found) continue;
    lock.packages[`node_modules/${name}`] = {
      version: version.replace(/^[\^~]/, ""),
      ...platform(name),
      ...(entry.dev ? { dev: true } : {}),
      optional: true,
    };
    added++;
  }
}
const [root, ...rest] = Object.entries(lock.packages);
if (!root) throw new Error("package-lock.json has no packages");
rest.sort(([a], [b]) => (a < b ? -1 : 1));
lock.packages = Object.fromEntries([root, ...rest]);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`${added} platform packages added to package-lock.json\n`);
