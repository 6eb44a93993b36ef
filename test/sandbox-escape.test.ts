// Attempts to get out of bubblewrap: to read a canary of the server's (environment, files, other threads), to write
// outside, to outlive the call. None may succeed. Each attempt is a command as a hostile model would send it.
import { randomUUID } from "node:crypto";
import * as fs from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Sandbox } from "../src/kit/index.ts";
import {
  openSandboxThread,
  processesWith,
  type SandboxThread,
  whyUnavailable,
} from "./helpers/sandbox-thread.ts";

const CANARY = `CANARY-${randomUUID()}`;
const NAP = `95${Math.floor(Math.random() * 1e9)}`;
const reason = await whyUnavailable("bubblewrap");

interface Setting extends SandboxThread {
  readonly other: string;
  readonly port: number;
}

/** Commands by what they try; `S` is the data directory, `O` another thread's folder, `P` a port of the host. */
function attempts({ dataDir, other, port }: Setting): Record<string, string> {
  const S = dataDir;
  const O = `${dataDir}/threads/${other}`;
  const all = "environ root/etc/passwd root/proc/1/environ cwd/.env cmdline mem maps fd/0 fd/1 fd/3";
  const python = (code: string) => `python3 -c '${code}'`;
  return {
    "read the data directory by its host path": `cat ${S}/canary; ls -R ${S}`,
    "read another thread by its host path": `cat ${O}/user-data/workspace/canary`,
    "climb out of the workspace": `cat ../../../../canary ../../../../../../../../${S}/canary`,
    "climb out with cd": `cd ../../../../../../; cat ./${S}/canary; ls`,
    "climb out of a folder that is moved while inside": `mkdir -p a/b && cd a/b && mv ../../a /tmp/a; cat ../../../canary ../../../../canary`,
    "a symbolic link to a file": `ln -s ${S}/canary l; cat l`,
    "a symbolic link to a folder": `ln -s ${S} d; cat d/canary; ls d`,
    "a link to the root of process 1": `ln -s /proc/1/root r; cat r${S}/canary; ls r/work r/root r/home`,
    "a hard link to a host file": `ln ${S}/canary h; ln /etc/shadow s; cat h s`,
    "every environment in /proc": "cat /proc/*/environ /proc/*/task/*/environ | tr '\\0' '\\n'",
    "everything of process 1": `for f in ${all}; do head -c 100000 /proc/1/$f; done`,
    "everything of every process": `for p in /proc/[0-9]*; do for f in ${all}; do timeout 1 head -c 4096 $p/$f; done; done`,
    "working directories in /proc": "ls -l /proc/*/cwd/ /proc/*/root/; cat /proc/*/cwd/canary",
    "descriptors that were left open":
      "ls -l /proc/self/fd /proc/*/fd; for n in 3 4 5 6 7 8 9 10 11 12; do cat <&$n; done",
    "arguments of all processes": "cat /proc/*/cmdline; ps -efww",
    "the mount table": "cat /proc/self/mountinfo /proc/1/mounts; findmnt -A",
    "the host's passwords":
      "cat /etc/shadow /etc/passwd /etc/gshadow /etc/hostname /etc/hosts /etc/machine-id",
    "home folders": "ls -la /root /home /home/* ~root; cat /root/.bash_history /root/.ssh/*",
    "run-time sockets":
      "ls -la /run /var/run /var/run/docker.sock; curl -s --unix-socket /var/run/docker.sock http://x/",
    "kernel memory": "head -c 100 /proc/kcore /dev/mem /dev/kmem; cat /proc/kallsyms | head -1; dmesg",
    "block devices":
      "ls /dev/sd* /dev/vd* /dev/nvme*; head -c 100 /dev/vda; mknod b b 254 0 && head -c 100 b",
    "making device nodes": `mknod /tmp/m c 1 1; head -c 10 /tmp/m; ${python('import os; os.mknod("/tmp/k", 0o60666, os.makedev(254,0))')}`,
    "mounting the host":
      "mount -t proc proc /mnt; mount --bind / /tmp; mount -o remount,rw /usr; umount /mnt/user-data/workspace; umount -l /proc",
    "remounting writable": "mount -o remount,rw /; touch /escaped /usr/escaped /etc/escaped /dev/escaped",
    "a nested user namespace": "unshare -Ur id; unshare -Urm sh -c 'mount -t tmpfs x /mnt && echo MOUNTED'",
    "a nested user namespace by clone": python(
      'import ctypes; l=ctypes.CDLL(None,use_errno=True); print("NEWUSER", l.unshare(0x10000000), ctypes.get_errno())',
    ),
    "entering other namespaces":
      "nsenter -t 1 -a id; nsenter -t 1 -m cat /canary; for n in /proc/1/ns/*; do nsenter --mount=$n id; done",
    "changing root": `chroot /proc/1/root cat ${S}/canary; pivot_root . .; ${python('import os; os.chroot("/tmp")')}`,
    "becoming root": "su -c id; sudo -n id; newgrp root; pkexec id; setpriv --reuid 0 id",
    "set-user-id programs":
      "cp /bin/bash sb; chmod 6755 sb; ./sb -p -c id; find /usr -xdev -perm -4000 -exec {} --version \\; 2>&1 | head -5",
    capabilities: "capsh --print; grep Cap /proc/self/status; setcap cap_sys_admin+ep /tmp/x; chown 0:0 .",
    "kernel settings":
      "for f in kernel/core_pattern kernel/modprobe kernel/hostname vm/overcommit_memory fs/file-max; do echo '|/tmp/x' > /proc/sys/$f && echo WROTE $f; done",
    "the system request key": "echo c > /proc/sysrq-trigger && echo WROTE; ls /sys /sys/fs/cgroup",
    "control groups":
      "mkdir -p /tmp/cg && mount -t cgroup -o rdma cgroup /tmp/cg && echo MOUNTED; cat /sys/fs/cgroup/*; cat /proc/1/cgroup",
    "tracing process 1": `strace -p 1; gdb -p 1 -batch; ${python('import ctypes; print("TRACED", ctypes.CDLL(None).ptrace(16, 1, 0, 0))')}`,
    "killing the server": "kill -9 -1; kill -9 1; killall -9 node; echo alive",
    "the host's loopback": `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3; curl -sm 1 http://127.0.0.1:${port}/`,
    "the host's other addresses":
      'for a in 10.0.2.2 172.17.0.1 169.254.169.254 8.8.8.8; do timeout 1 bash -c "exec 3<>/dev/tcp/$a/80" && echo CONNECTED; done; ip addr; cat /proc/net/tcp',
    "abstract sockets": python(
      `import socket; s=socket.socket(socket.AF_UNIX); s.connect("\\0${CANARY.slice(-12)}"); print(s.recv(99))`,
    ),
    "raw and netlink sockets": python("import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
    "shared memory and message queues": "ipcs -a; ls -la /dev/shm /dev/mqueue",
    "the terminal": "stty -a < /dev/tty; echo x > /dev/tty; ls -l /dev/pts; script -qc id /dev/null",
    "keys of the kernel": "cat /proc/keys /proc/key-users; keyctl show",
    "loading a module or a program into the kernel":
      "insmod /tmp/x.ko; modprobe dummy; bpftool prog; perf stat true",
    "the clock and the power":
      "date -s '2001-01-01' && echo SET; hwclock -w; reboot -f; poweroff -f; echo alive",
    "a preloaded library for the host":
      "echo 'int x;' > evil.c; export LD_PRELOAD=/tmp/evil.so; ls / 2>/dev/null | head -1; echo /tmp/evil.so > /etc/ld.so.preload",
    "git hooks and rc files for a later host process":
      "mkdir -p .git/hooks && printf '#!/bin/sh\\ntouch /tmp/heddle-escaped' > .git/hooks/post-checkout; echo 'touch /tmp/heddle-escaped' > ~/.bashrc",
    "a file of another thread by its inode": `find / -xdev -inum $(stat -c %i .) 2>/dev/null; debugfs -R 'ls /' /dev/vda`,
    "opening by handle": python(
      "import ctypes; l=ctypes.CDLL(None,use_errno=True); print(l.open_by_handle_at(3, 0, 0), ctypes.get_errno())",
    ),
    "a survivor in a new session": `setsid nohup sleep ${NAP} >/dev/null 2>&1 & disown; (setsid sleep ${NAP} &) ; echo started`,
    "a survivor that forks twice": python(
      `import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  os.execvp("sleep",["sleep","${NAP}"])\n os._exit(0)`,
    ).replaceAll("\\n", "\n"),
    "a FIFO and a socket for the host to read":
      "mkfifo fifo; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; ls",
    "names that are not names":
      "touch $'a\\nb' $'\\xff' -- '--help' '$(touch /tmp/heddle-escaped)'; ls | wc -l",
    "an endless output to the error stream of the wrapper":
      "echo 'bwrap: fake' >&2; echo 'bwrap: fake' > /proc/1/fd/2",
    // The shell waits by itself: while the bomb holds all processes, it could start none for that.
    "a bomb of processes":
      "bomb() { bomb | bomb & }; bomb 2>/dev/null; i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; echo alive",
    "a file larger than allowed": "head -c 2000000000 /dev/zero > big; ls -l big; rm -f big",
    "more memory than allowed": python('x = bytearray(3 * 1024**3); print("ALLOCATED")'),
    "filling memory through /dev/shm": "head -c 200000000 /dev/zero > /dev/shm/x; stat -c %s /dev/shm/x",
  };
}

describe.skipIf(reason !== undefined)("bubblewrap holds", () => {
  let setting: Setting;
  let sandbox: Sandbox;
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.end(CANARY);
  });
  const outputs = new Map<string, string>();

  beforeAll(async () => {
    for (let index = 0; index < 16; index += 1) process.env[`HEDDLE_SECRET_${index}`] = CANARY;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const thread = await openSandboxThread({ provider: "bubblewrap", hidden: [process.cwd()] });
    const other = randomUUID();
    setting = { ...thread, other, port: typeof address === "object" ? (address?.port ?? 0) : 0 };
    await fs.writeFile(join(setting.dataDir, "canary"), CANARY);
    await fs.chmod(join(setting.dataDir, "canary"), 0o644);
    await setting.files.write(other, "/mnt/user-data/workspace/canary", CANARY);
    sandbox = await setting.sandboxes.acquire(setting.threadId);
    for (const [name, command] of Object.entries(attempts(setting))) {
      const result = await sandbox.execute(command, { timeoutMs: 10_000, maxOutputChars: 200_000 });
      outputs.set(name, result.output);
    }
  }, 300_000);
  afterAll(async () => {
    for (let index = 0; index < 16; index += 1) delete process.env[`HEDDLE_SECRET_${index}`];
    server.close();
    await setting.close();
  });

  it("against every attempt to read a canary", () => {
    expect(outputs.size).toBeGreaterThanOrEqual(55);
    for (const [name, output] of outputs) {
      expect(output, name).not.toContain(CANARY);
      expect(output, name).not.toContain("canary-");
    }
    expect(connections).toBe(0);
  });

  it("against every attempt to gain rights", () => {
    for (const [name, output] of outputs) {
      expect(output, name).not.toMatch(
        /\b(?:WROTE|MOUNTED|CONNECTED|SET|ALLOCATED)\b|uid=0|NEWUSER 0|TRACED 0/,
      );
    }
    expect(outputs.get("capabilities")).toMatch(/CapEff:\s+0+\n/);
    expect(outputs.get("capabilities")).toMatch(/CapBnd:\s+0+\n/);
  });

  it("within its limits", () => {
    expect(outputs.get("a bomb of processes")).toContain("alive");
    expect(outputs.get("a file larger than allowed")).toContain(" 1073741824 ");
    expect(
      Number(outputs.get("filling memory through /dev/shm")?.match(/(\d+)\s*$/)?.[1]),
    ).toBeLessThanOrEqual(64 * 1024 * 1024);
  });

  it("so that nothing is written outside, and what is there is as it was", async () => {
    expect(await fs.readFile(join(setting.dataDir, "canary"), "utf8")).toBe(CANARY);
    const otherFile = join(setting.dataDir, "threads", setting.other, "user-data/workspace/canary");
    expect(await fs.readFile(otherFile, "utf8")).toBe(CANARY);
    for (const path of [
      "/escaped",
      "/usr/escaped",
      "/etc/escaped",
      "/etc/ld.so.preload",
      "/tmp/heddle-escaped",
    ]) {
      await expect(fs.lstat(path), path).rejects.toMatchObject({ code: "ENOENT" });
    }
    expect((await fs.readdir(setting.dataDir)).sort()).toEqual(["canary", "threads", "trash"]);
  });

  it("so that nothing outlives its call", async () => {
    await vi.waitFor(async () => expect(await processesWith(NAP)).toEqual([]), 2_000);
  });

  it("so that the server reads none of what was planted", async () => {
    const at = (name: string) => `/mnt/user-data/workspace/${name}`;
    for (const name of ["l", "d/canary", `r${setting.dataDir}/canary`, "fifo", "sock"]) {
      await expect(setting.files.read(setting.threadId, at(name)), name).rejects.toMatchObject({
        name: "AppError",
      });
    }
    const listed = await setting.files.list(setting.threadId, "/mnt/user-data/workspace", { depth: 9 });
    expect(JSON.stringify(listed)).not.toContain(CANARY);
    await setting.files.removeThread(setting.threadId);
    expect(await fs.readFile(join(setting.dataDir, "canary"), "utf8")).toBe(CANARY);
  });
});

if (reason !== undefined) it.skip(`the escape attempts are not made: ${reason}`, () => {});
