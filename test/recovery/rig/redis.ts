// A Redis of the rig's own, when the machine has one: it can be killed, emptied, paused, and told lies.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../../src/db/free-port.ts";
import type { Custody } from "./custody.ts";

/** Why there is no Redis here, or undefined. */
export const whyNoRedis = () =>
  spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status === 0
    ? undefined
    : "redis-server is not installed";

export interface RigRedis {
  readonly url: string;
  start(): Promise<void>;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Sends one inline command and waits for the answer. */
  command(text: string): Promise<void>;
}

export async function startRedis(custody: Custody): Promise<RigRedis> {
  const port = await freePort();
  let child: ChildProcess | undefined;

  const command = async (text: string) => {
    const socket = connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      socket.write(`${text}\r\n`);
      await once(socket, "data");
    } finally {
      socket.destroy();
    }
  };
  const start = async () => {
    const args = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    const started = spawn("redis-server", args, { cwd: custody.folder, stdio: "ignore" });
    child = started;
    custody.add(started);
    const answers = () =>
      command("PING").then(
        () => true,
        () => false,
      );
    while (!(await answers())) {
      if (started.exitCode !== null) throw new Error(`redis-server ended with ${started.exitCode}`);
      await delay(20);
    }
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    command,
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
    pause: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
  };
}
