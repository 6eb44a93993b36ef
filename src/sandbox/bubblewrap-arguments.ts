// The command line of bubblewrap: what a command sees of the machine, and nothing else. Pure but for looking at
// which system folders exist.
import { existsSync, lstatSync, readlinkSync } from "node:fs";
import type { Command, SandboxFolders, SandboxLimits } from "./provider.ts";

/** Programs and libraries, read-only. Never /etc, /home, /root, /var, /opt or /srv as a whole. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"];
/** Of /etc only what programs need to start and to read times, types and fonts; nothing of users or secrets. */
const ETC = [
  "alternatives",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "mime.types",
  "fonts",
].map((name) => `/etc/${name}`);
/** Where images and packagers put application code, which may hold our own settings. */
const SOURCES = ["/usr/src", "/usr/local/src"];

const ENVIRONMENT = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/mnt/user-data/workspace",
  LANG: "C.UTF-8",
};
const USER_ID = "1000";
/** Given as descriptors 4 and 5, after the arguments on 3; bubblewrap reports its child on the next. */
export const PASSWD = `agent:x:${USER_ID}:${USER_ID}:agent:${ENVIRONMENT.HOME}:/bin/bash\n`;
export const GROUP = `agent:x:${USER_ID}:\n`;
const REPORT_DESCRIPTOR = 6;

/**
 * Mounts, namespaces and environment. For bubblewrap's `--args`, so that they stand in no process list: they name
 * host paths. `hidden` are host folders that must not be seen even where they lie inside a system folder.
 */
export function sandboxArguments(folders: SandboxFolders, hidden: readonly string[]): string[] {
  const user = "/mnt/user-data";
  return [
    ...SYSTEM.flatMap(systemFolder),
    ...directory("/etc"),
    ...ETC.flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--perms", "0644", "--ro-bind-data", "4", "/etc/passwd"],
    ...["--perms", "0644", "--ro-bind-data", "5", "/etc/group"],
    ...[...SOURCES, ...hidden]
      .filter(isInsideSystem)
      .flatMap((path) => ["--tmpfs", path, "--remount-ro", path]),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...["--size", String(64 * 1024 * 1024), "--perms", "1777", "--tmpfs", "/dev/shm"],
    ...directory("/mnt"),
    ...directory(user),
    ...["--bind", folders.workspace, `${user}/workspace`],
    ...["--bind", folders.uploads, `${user}/uploads`],
    ...["--bind", folders.outputs, `${user}/outputs`],
    ...["--bind", folders.scratch, "/tmp"],
    // Both are memory: a command must not fill it, nor leave anything there for the set-up below to find.
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
    ...["--chdir", `${user}/workspace`, "--clearenv"],
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--hostname", "sandbox", "--die-with-parent", "--new-session"],
    ...["--info-fd", String(REPORT_DESCRIPTOR)],
  ];
}

/** Namespaces for a server that is not root: the user namespace gives the right to mount, and no way to another. */
export const UNPRIVILEGED = [
  ...["--unshare-all", "--unshare-user", "--disable-userns"],
  ...["--uid", USER_ID, "--gid", USER_ID, "--cap-drop", "ALL"],
];

/**
 * For a server that is root: mounts are made with root's rights, since the unprivileged user need not reach
 * DATA_DIR; then the command changes to that user, who enters a user namespace of its own. Root must not be
 * kept, not even inside a user namespace: files in /proc/sys obey the id alone (core_pattern is a way out), and
 * limits on processes do not bind root.
 */
export const PRIVILEGED = [
  ...["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup"],
  ...["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"],
];

/** What runs inside `PRIVILEGED`, before the command. */
export function dropToUser(tools: { bwrap: string; setpriv: string }, uid: number, gid: number): string[] {
  return [
    ...[tools.setpriv, "--reuid", String(uid), "--regid", String(gid), "--clear-groups"],
    ...["--no-new-privs", "--inh-caps=-all", "--"],
    ...[tools.bwrap, "--unshare-user", "--disable-userns", "--uid", USER_ID, "--gid", USER_ID],
    ...["--cap-drop", "ALL", "--dev-bind", "/", "/", "--"],
  ];
}

/**
 * The shell around the command: sets limits that bind (inside the user namespace processes are counted per call),
 * joins standard error to standard output in the order of writing, and leaves the outer standard error to bubblewrap.
 */
export function limitedShell({ command, timeoutMs }: Command, limits: SandboxLimits): string[] {
  const kibibytes = (bytes: number) => Math.floor(bytes / 1024);
  const script = [
    "ulimit -c 0",
    `ulimit -f ${kibibytes(limits.maxFileBytes)}`,
    // Data, not address space: JavaScript and Java engines reserve far more addresses than they use.
    `ulimit -d ${kibibytes(limits.maxMemoryBytes)}`,
    `ulimit -u ${limits.maxProcesses}`,
    "exec 2>&1",
    // The server kills at the time-out. This is for a server that dies in the moment in which bubblewrap's child
    // does not yet die with it.
    `command -v timeout >/dev/null && exec timeout -s KILL ${Math.ceil(timeoutMs / 1000) + 5} /bin/bash -c "$1"`,
    'exec /bin/bash -c "$1"',
  ].join("\n");
  return ["/bin/bash", "-c", script, "bash", command];
}

// /bin and its like are links into /usr on most systems, and folders on others.
function systemFolder(path: string): string[] {
  if (!existsSync(path)) return [];
  if (lstatSync(path).isSymbolicLink()) return ["--symlink", readlinkSync(path), path];
  return ["--ro-bind", path, path];
}

// bubblewrap makes missing parents unreadable for anyone but their owner.
function directory(path: string): string[] {
  return ["--perms", "0755", "--dir", path];
}

function isInsideSystem(path: string): boolean {
  return existsSync(path) && SYSTEM.some((folder) => path.startsWith(`${folder}/`));
}
