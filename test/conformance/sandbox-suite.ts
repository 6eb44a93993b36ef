// What every provider of sandboxes must do, as tests. A provider says what it promises beyond the common part.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import * as fs from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { ExecuteOptions, ExecuteResult, Sandbox } from "../../src/kit/index.ts";
import { openSandboxThread, processesWith, type SandboxThread } from "../helpers/sandbox-thread.ts";

export interface SandboxPromises {
  /** Commands see nothing of the machine and reach no network. */
  readonly isIsolated: boolean;
  /** Commands are processes of the kernel, with signals, sessions and streaming pipes. */
  readonly hasProcesses: boolean;
}

const WORKSPACE = "/mnt/user-data/workspace";

export function describeSandbox(
  provider: "bubblewrap" | "virtual" | "local",
  promises: SandboxPromises,
): void {
  describe(`the ${provider} sandbox`, () => {
    const { isIsolated, hasProcesses } = promises;
    let setting: SandboxThread;
    let threadId: string;
    let sandbox: Sandbox;
    const run = (command: string, options?: ExecuteOptions): Promise<ExecuteResult> =>
      sandbox.execute(command, options);
    const output = async (command: string, options?: ExecuteOptions) => (await run(command, options)).output;
    const onDisk = (path: string) => join(setting.dataDir, "threads", threadId, "user-data", path);

    beforeAll(async () => {
      for (let index = 0; index < 8; index += 1) process.env[`HEDDLE_CANARY_${index}`] = `canary-${index}`;
      setting = await openSandboxThread({ provider });
    });
    afterAll(async () => {
      for (let index = 0; index < 8; index += 1) delete process.env[`HEDDLE_CANARY_${index}`];
      await setting.close();
    });
    beforeEach(async () => {
      threadId = randomUUID();
      sandbox = await setting.sandboxes.acquire(threadId);
    });

    it("says what it is and what it lacks", async () => {
      const description = await setting.sandboxes.describe();
      expect(description.name).toBe(provider);
      expect(sandbox.id).toBe(`${provider}:${threadId}`);
      expect(description.lacks.join(" ").includes("no network")).toBe(isIsolated);
      expect(description.warning === undefined).toBe(isIsolated);
    });

    it("reports exit codes", async () => {
      expect(await run("true")).toEqual({ exit_code: 0, output: "", truncated: false, timed_out: false });
      expect((await run("exit 7")).exit_code).toBe(7);
      expect((await run("(exit 3)")).exit_code).toBe(3);
      expect(await run("no-such-command")).toMatchObject({
        exit_code: 127,
        output: expect.stringContaining("no-such-command: command not found"),
      });
      expect((await run("if then")).exit_code).toBe(2);
    });

    it.runIf(hasProcesses)("reports a command that died of a signal as a shell does", async () => {
      expect((await run("kill -TERM $$")).exit_code).toBe(143);
    });

    it("keeps standard output and standard error in the order of writing", async () => {
      expect(await output("echo a; echo b >&2; echo c; ls /no-such 2>/dev/null; echo d >&2")).toBe(
        "a\nb\nc\nd\n",
      );
    });

    it("has standard streams that can be opened by name", async () => {
      expect(await output("echo a > /dev/stdout; echo b > /dev/stderr")).toBe("a\nb\n");
      if (hasProcesses) expect(await output("echo c | tee /dev/stderr")).toBe("c\nc\n");
    });

    it("passes standard input, which is empty unless given", async () => {
      expect(await output("cat", { stdin: "two\nlines – ü\n" })).toBe("two\nlines – ü\n");
      expect(await output("cat; echo end")).toBe("end\n");
      const unread = await run("echo not reading", { stdin: "x".repeat(1_000_000) });
      expect(unread).toMatchObject({ exit_code: 0, output: "not reading\n" });
    });

    it("starts in the workspace", async () => {
      expect(await output("pwd; echo $HOME; cd ~ && pwd")).toBe(`${WORKSPACE}\n`.repeat(3));
      await run("echo kept > here.txt");
      expect((await setting.files.read(threadId, `${WORKSPACE}/here.txt`)).toString()).toBe("kept\n");
    });

    it("takes commands as a shell does: lines, quotes, here-documents, comments, any script", async () => {
      expect(await output("x='a b'\nfor i in 1 2; do\n  echo \"$i $x\"\ndone # end")).toBe("1 a b\n2 a b\n");
      expect(await output("cat <<'END'\n  $kept  as is – 漢字 👍\nEND\n")).toBe("  $kept  as is – 漢字 👍\n");
      expect(await output("# only a comment")).toBe("");
      expect(await output("")).toBe("");
      const long = "z".repeat(100_000);
      expect(await output(`wc -c <<'END'\n${long}\nEND`)).toMatch(/^\s*100001\s*$/);
    });

    it("refuses a command with a NUL, or too long to pass on, with a reason", async () => {
      await expect(run("echo a\0b")).rejects.toMatchObject({ code: "invalid_request" });
      if (hasProcesses) {
        await expect(run(`: ${"x".repeat(200_000)}`)).rejects.toMatchObject({ code: "invalid_request" });
      }
    });

    it("shows the three folders under their virtual paths, and nothing else beside them", async () => {
      if (isIsolated) expect(await output("ls /mnt/user-data")).toBe("outputs\nuploads\nworkspace\n");
      await run(
        "for f in workspace uploads outputs; do echo in $f > /mnt/user-data/$f/$f.txt; done".replaceAll(
          "/mnt/user-data/$f",
          provider === "local" ? "../$f" : "/mnt/user-data/$f",
        ),
      );
      for (const folder of ["workspace", "uploads", "outputs"]) {
        const path = `/mnt/user-data/${folder}/${folder}.txt`;
        expect((await setting.files.read(threadId, path)).toString()).toBe(`in ${folder}\n`);
        expect(await output(`cat "${path}"; cat ${path} | tr -d '\\n'`)).toBe(`in ${folder}\nin ${folder}`);
      }
    });

    it("lets commands change what the server wrote, and the server what commands made", async () => {
      await setting.files.write(threadId, `${WORKSPACE}/sub/a.sh`, "echo one\n");
      expect(await output("echo echo two >> sub/a.sh; chmod +x sub/a.sh; bash sub/a.sh")).toBe("one\ntwo\n");
      await run("mkdir -p made/by/command && echo x > made/by/command/f && mv sub moved && rm moved/a.sh");
      await setting.files.write(threadId, `${WORKSPACE}/made/by/command/f`, "y", { append: true });
      expect(await output("cat made/by/command/f")).toBe("x\ny");
      await setting.files.write(threadId, `${WORKSPACE}/moved/again`, "z");
      expect(await output("rm -r moved made && ls")).toBe("");
    });

    it.runIf(isIsolated)("keeps its folders in place whatever a command does", async () => {
      await run(
        "rm -rf /mnt/user-data/outputs; mv /mnt/user-data/outputs /mnt/user-data/x; rmdir /mnt/user-data/outputs",
      );
      await run("touch /mnt/user-data/extra; mkdir /mnt/user-data/extra2; true");
      expect(await output("ls /mnt/user-data | grep -v extra; echo back > /mnt/user-data/outputs/f")).toBe(
        "outputs\nuploads\nworkspace\n",
      );
      expect((await setting.files.read(threadId, "/mnt/user-data/outputs/f")).toString()).toBe("back\n");
      expect(await fs.readdir(onDisk("."))).toEqual(["outputs", "uploads", "workspace"]);
    });

    it.runIf(isIsolated)("does not follow links that lead out", async () => {
      const secret = join(setting.dataDir, "secret");
      await fs.writeFile(secret, "SECRET");
      await fs.chmod(secret, 0o644);
      await fs.symlink(secret, onDisk("workspace/file"));
      await fs.symlink(setting.dataDir, onDisk("workspace/folder"));
      await fs.symlink("../../../../secret", onDisk("workspace/relative"));
      const read = await output(
        "cat file folder/secret relative; ls folder/; cp file copy; cat copy; echo x >> file",
      );
      expect(read).not.toContain("SECRET");
      expect(await fs.readFile(secret, "utf8")).toBe("SECRET");
    });

    it("makes no link that the server follows", async () => {
      await run("ln -s /etc/passwd link; ln -s /etc folder");
      await expect(setting.files.read(threadId, `${WORKSPACE}/link`)).rejects.toThrow();
      await expect(setting.files.read(threadId, `${WORKSPACE}/folder/passwd`)).rejects.toThrow();
    });

    it("gives an environment with nothing of the server's in it", async () => {
      const environment = await output(
        "env; echo; export -p; echo; cat /proc/self/environ /proc/1/environ 2>/dev/null",
      );
      expect(environment).not.toMatch(/canary/i);
      const names = (await output("env")).split("\n").flatMap((line) => line.match(/^(\w+)=/)?.[1] ?? []);
      const shells = ["PWD", "OLDPWD", "SHLVL", "_", "IFS", "OPTIND", "SHELLOPTS", "BASHOPTS"];
      const machine = ["OSTYPE", "MACHTYPE", "HOSTTYPE", "HOSTNAME"];
      const local = provider === "local" ? ["TMPDIR", "HEDDLE_COMMAND"] : [];
      expect(["PATH", "HOME", "LANG", ...shells, ...machine, ...local]).toEqual(
        expect.arrayContaining(names),
      );
      expect(names).toEqual(expect.arrayContaining(["PATH", "HOME", "LANG"]));
    });

    it.runIf(isIsolated)("reaches no network", async () => {
      let connections = 0;
      const server = createServer((socket) => {
        connections += 1;
        socket.end("reached");
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const address = server.address();
      const port = typeof address === "object" ? address?.port : 0;
      const result = await output(
        `exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3; curl -s -m 2 http://127.0.0.1:${port}; ` +
          `python3 -c "import socket; print(socket.create_connection(('127.0.0.1', ${port}), 2).recv(9))"; true`,
      );
      server.close();
      expect(connections).toBe(0);
      expect(result).not.toContain("reached");
    });

    it("ends at the time-out with all that it started", async () => {
      const nap = `98${Math.floor(Math.random() * 1e9)}`;
      const endless = hasProcesses
        ? `echo begun; setsid nohup sleep ${nap} >/dev/null 2>&1 & (sleep ${nap} & ); (setsid sh -c "sleep ${nap}; true" &) ; sleep ${nap}`
        : `echo begun; while true; do true; done`;
      const result = await run(endless, { timeoutMs: 1_000 });
      expect(result).toMatchObject({ exit_code: 124, timed_out: true });
      if (hasProcesses) expect(result.output).toBe("begun\n");
      if (existsSync("/proc/self"))
        await vi.waitFor(async () => expect(await processesWith(nap)).toEqual([]));
      expect(await output("echo still works")).toBe("still works\n");
    });

    it.runIf(hasProcesses)(
      "leaves nothing running in the background when a command ends by itself",
      async () => {
        const nap = `97${Math.floor(Math.random() * 1e9)}`;
        const result = await run(`sleep ${nap} & setsid nohup sleep ${nap} >/dev/null 2>&1 & echo done`);
        expect(result).toMatchObject({ exit_code: 0, output: "done\n" });
        if (existsSync("/proc/self"))
          await vi.waitFor(async () => expect(await processesWith(nap)).toEqual([]));
      },
    );

    it("ends when the signal aborts", async () => {
      const controller = new AbortController();
      const running = run("echo x > started; while true; do true; done", { signal: controller.signal });
      await vi.waitFor(async () => {
        expect(await setting.files.stat(threadId, `${WORKSPACE}/started`)).toBeDefined();
      }, 10_000);
      controller.abort(new Error("enough"));
      expect(await running).toMatchObject({ exit_code: 137, timed_out: false });
      const late = await run("echo y > never", { signal: controller.signal });
      expect(late.exit_code).toBe(137);
      expect(await setting.files.stat(threadId, `${WORKSPACE}/never`)).toBeUndefined();
    });

    it("cuts long output in the middle, always at the same place, and says how much is gone", async () => {
      const command = "seq 0 2999 | sed 's/^/line /'";
      const result = await run(command, { maxOutputChars: 1_000 });
      expect(result.truncated).toBe(true);
      expect(result.output).toMatch(
        /^line 0\nline 1\n.*\n\[\.\.\. \d+ bytes of output left out \.\.\.\]\n.*line 2999\n$/s,
      );
      expect(result.output.length).toBeLessThan(1_100);
      expect(await run(command, { maxOutputChars: 1_000 })).toEqual(result);
      const whole = await run(command, { maxOutputChars: 1_000_000 });
      expect(whole.truncated).toBe(false);
      const left = Number(result.output.match(/\.\.\. (\d+) bytes/)?.[1]);
      expect(left + 1_000).toBe(whole.output.length);
    });

    it("holds little of a great output in memory", async () => {
      await run("true");
      const before = process.memoryUsage.rss();
      const result = await run(
        hasProcesses
          ? "yes 'a line of output' | head -c 1000000000"
          : "awk 'BEGIN { while (1) print \"a line of output that is rather long, for it shall fill the memory\" }'",
        { timeoutMs: 20_000 },
      );
      // A worker's memory is the server's; an interpreter needs more than a pipe.
      expect(process.memoryUsage.rss() - before).toBeLessThan(hasProcesses ? 250_000_000 : 800_000_000);
      expect(result.output.length).toBeLessThan(21_000);
      expect(await output("echo still works")).toBe("still works\n");
    });

    it("turns output that is not text into text that can be stored", async () => {
      const text = await output("printf 'a\\000b\\377\\376c\\n'");
      expect(text.isWellFormed()).toBe(true);
      expect(text).not.toContain("\0");
      expect(text).toMatch(/^a.b.+c\n$/);
      await setting.files.write(threadId, `${WORKSPACE}/raw`, Buffer.from([0x61, 0, 0xff, 0xfe, 0x62]));
      expect(await output("cat raw")).toMatch(/^a\ufffd..b$/u);
    });

    it("runs calls in parallel, each with its own output and its own end", async () => {
      const calls = Array.from({ length: 10 }, (_, index) =>
        index === 3
          ? run("while true; do true; done", { timeoutMs: 1_500 })
          : run(`echo ${index} > /tmp/p${index}; sleep 0.2; cat /tmp/p${index}; exit ${index}`),
      );
      for (const [index, result] of (await Promise.all(calls)).entries()) {
        if (index === 3) expect(result).toMatchObject({ exit_code: 124, timed_out: true });
        else expect(result).toMatchObject({ exit_code: index, output: `${index}\n` });
      }
    });

    it("keeps /tmp from call to call, for its own thread, until it is released", async () => {
      // The host may have a /tmp/note of its own.
      const note = `/tmp/note-${randomUUID()}`;
      await run(`echo mine > ${note}; mkdir /tmp/closed; touch /tmp/closed/x; chmod 0 /tmp/closed`);
      expect(await output(`cat ${note}`)).toBe("mine\n");
      const other = await setting.sandboxes.acquire(randomUUID());
      expect((await other.execute(`cat ${note}; ls /tmp`)).output).not.toContain("mine");
      expect(existsSync(note)).toBe(false);
      await setting.sandboxes.release(threadId);
      expect(existsSync(join(setting.dataDir, "threads", threadId, "sandbox-tmp"))).toBe(false);
      await expect(run("true")).rejects.toMatchObject({ code: "sandbox_unavailable" });
      sandbox = await setting.sandboxes.acquire(threadId);
      expect(await output("ls -A /tmp")).toBe("");
    });

    it.runIf(isIsolated)("sees nothing of other threads or of the server's data", async () => {
      const other = randomUUID();
      await setting.files.write(other, `${WORKSPACE}/canary.txt`, "CANARY");
      await fs.writeFile(join(setting.dataDir, "canary.env"), "CANARY");
      const found = await output(
        `find / -path /usr -prune -o -name 'canary*' -print 2>/dev/null; cat ${setting.dataDir}/canary.env; ls ${setting.dataDir}; ` +
          `cat ${WORKSPACE}/../../../../${other}/user-data/workspace/canary.txt; ls ${process.cwd()}`,
      );
      expect(found).not.toContain("CANARY");
      expect(found).not.toMatch(/canary\.txt$|package\.json/m);
    });

    it("never names a host path in its output", async () => {
      const text = await output(
        "pwd; pwd -P; ls -la . ..; cd ..; pwd; readlink -f .; cat /proc/self/mountinfo /proc/1/cmdline; " +
          "cat ./none; cat /tmp/none; df . /tmp; mount | grep user-data; true",
      );
      expect(text).not.toContain(setting.dataDir);
      expect(text).not.toContain(threadId);
      expect(text).toContain(WORKSPACE);
    });
  });
}
