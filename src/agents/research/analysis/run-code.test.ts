import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  openSandboxThread,
  type SandboxThread,
  whyUnavailable,
} from "../../../../test/helpers/sandbox-thread.ts";
import { type CodeRunner, createCodeRunner, type Language } from "./run-code.ts";

describe.each([
  ["virtual", ["bash"]],
  ["bubblewrap", ["python", "bash"]],
] as const)("code in %s", async (provider, languages) => {
  const reason = await whyUnavailable(provider);
  let thread: SandboxThread;
  let runner: CodeRunner;
  beforeAll(async () => {
    thread = await openSandboxThread({ provider });
    runner = createCodeRunner({ ...thread, timeoutMs: 20_000 });
  });
  afterAll(() => thread.close());
  const place = () => ({ threadId: thread.threadId, taskId: "ana-1" });
  const run = (language: Language, code: string) => runner.run(place(), { language, code });

  test.skipIf(reason)("knows its languages", async () => {
    const described = await runner.describe(thread.threadId);
    expect(described.languages).toEqual(expect.arrayContaining(["bash"]));
    // A machine without Python has none in its sandbox, either.
    expect(languages).toEqual(expect.arrayContaining([...described.languages]));
  });

  test.skipIf(reason)("has what it prints, its exit code, and its files", async () => {
    const code = "seq 3 | awk '{ sum += $1 } END { print sum }' | tee /mnt/user-data/outputs/ana-1/sum.txt";
    expect(await run("bash", code)).toMatchObject({ exitCode: 0, output: "6\n" });
    expect(await run("bash", "echo no >&2; exit 4")).toMatchObject({ exitCode: 4, output: "no\n" });
    expect(await runner.artifacts(place())).toEqual(["/mnt/user-data/outputs/ana-1/sum.txt"]);
  });

  test.skipIf(reason)("may be written in any language that is named", async () => {
    for (const language of (await runner.describe(thread.threadId)).languages) {
      const code = { python: "print(sum([1, 2, 3]))", bash: "echo 6" }[language];
      expect(await run(language, code)).toMatchObject({ exitCode: 0, output: "6\n" });
    }
  });

  test.skipIf(reason)("ends with its run", async () => {
    const stop = new AbortController();
    stop.abort(new Error("cancelled"));
    const running = runner.run(place(), { language: "bash", code: "echo 1" }, stop.signal);
    await expect(running).rejects.toThrow("cancelled");
  });
});
