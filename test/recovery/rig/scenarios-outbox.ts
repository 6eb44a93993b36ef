// What servers owe while they are killed: the runs of crons, and the webhooks of runs that have ended.
import { setTimeout as delay } from "node:timers/promises";
import { request, runClients, until } from "./client.ts";
import { during, pickLive, replace, startServers, workload } from "./faults.ts";
import { startReceiver } from "./receiver.ts";
import type { Scenario } from "./scenarios.ts";
import type { StartOptions } from "./supervisor.ts";
import type { World } from "./world.ts";

/** Firings of one round: more than a server fires before the next one looks. */
const CRONS = 20;

/** How long is waited until nothing is owed any more. */
const PATIENCE_MS = 60_000;

export const OUTBOX_SCENARIOS: Readonly<Record<string, Scenario>> = {
  crons: {
    about: "servers are killed while crons fire, all of them at the same moment",
    async play(world) {
      const crash = (): StartOptions => ({
        crash: `${world.random.pick(["cron-run-made", "cron-fired"])}@${world.random.whole(1, CRONS)}`,
      });
      // One of them is always there: what is missed while no server runs is another thing.
      const keepTwo = async (round: number) => {
        const lasting = world.servers.live().filter(({ name }) => name.startsWith("lasting"));
        const missing = ["a", "b"].slice(lasting.length);
        await Promise.all(missing.map((name) => world.servers.start(`lasting${round}${name}`)));
      };
      await Promise.all([keepTwo(0), replace(world, crash())]);
      await Promise.all(Array.from({ length: CRONS }, () => addCron(world, "* * * * *")));
      // Nobody waits for it: whoever is asked to change it looks what is due.
      const call = await addCron(world, "0 0 1 1 *");
      for (let round = 1; round <= 2 * world.times; round++) {
        // All servers wait for one moment.
        await world.db.query(
          `update heddle.crons
           set next_run_date = date_trunc('milliseconds', clock_timestamp()) + interval '200 milliseconds'
           where next_run_date > clock_timestamp() + interval '1 second' and schedule = '* * * * *'`,
        );
        const killed = delay(world.random.whole(180, 300)).then(() => pickLive(world)?.kill());
        await Promise.all(
          world.servers.live().map(({ url }) => request(world, url, `PATCH /runs/crons/${call}`, {})),
        );
        await killed;
        await Promise.all([keepTwo(round), replace(world, crash())]);
        await untilNone(world, "select 1 from heddle.crons where next_run_date < clock_timestamp() limit 1");
      }
      await untilNone(world, "select 1 from heddle.runs where finished_at is null limit 1");
    },
  },
  webhooks: {
    about: "servers are killed while they tell of runs that have ended, to a receiver that refuses some",
    async play(world) {
      const receiver = await startReceiver(
        world.history,
        world.random.fork("receiver"),
        world.times > 1 ? 2 : 1,
      );
      const env = { WEBHOOK_ALLOW: "127.0.0.1" };
      const options = (): StartOptions => ({
        env,
        ...(world.random.chance(0.5)
          ? { crash: `${world.random.pick(["webhook-taken", "webhook-told"])}@${world.random.whole(1, 8)}` }
          : {}),
      });
      try {
        await startServers(world, 3, options);
        const work = runClients(
          world,
          workload({
            turns: 4 * world.times,
            cancel: 0.1,
            more: { webhook: receiver.url },
            directives: (random) => (random.chance(0.1) ? "throw" : `ms=${random.whole(20, 200)}`),
          }),
        );
        await during(work, async () => {
          await delay(world.random.whole(300, 1_200));
          if (world.random.chance(0.5)) await pickLive(world)?.kill();
          if (world.servers.live().length < 3) await replace(world, options());
        });
        await replace(world, { env });
        await untilNone(world, "select 1 from heddle.webhooks limit 1", () => passOn(world));
      } finally {
        await receiver.close();
      }
    },
  },
};

async function addCron(world: World, schedule: string): Promise<string> {
  const body = {
    assistant_id: "chat",
    schedule,
    input: { messages: [{ role: "user", content: "ms=5" }] },
    on_run_completed: "keep",
  };
  const { body: answer } = await until(world, world.random, (url) =>
    request(world, url, "POST /runs/crons", body),
  );
  return (JSON.parse(answer) as { cron_id: string }).cron_id;
}

/** As if the minute for which the dead had them were over. */
const passOn = (world: World) =>
  world.db.query(
    `update heddle.webhooks w set due_at = clock_timestamp()
     where due_at > clock_timestamp() and $1::text[] @> array(
       select c.writer from rig.webhook_claim c where c.run_id = w.run_id order by n desc limit 1)`,
    [world.servers.instances.filter(({ running }) => !running).map(({ pid }) => String(pid))],
  );

/** What is left then, the checker finds. */
async function untilNone(world: World, left: string, help?: () => Promise<unknown>): Promise<void> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await delay(100)) {
    await help?.();
    if ((await world.db.query(left)).length === 0) return;
  }
}
