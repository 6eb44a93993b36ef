// Wake-ups over Redis (`REDIS_URL`): publish and subscribe, nothing stored. Without Redis the servers go on polling.
import { createClient } from "@redis/client";
import type { Logger } from "pino";
import type { OpenChannel } from "./wakeups.ts";

const CHANNEL = "heddle";

/** Servers of other databases may use the same Redis: their hints name runs that are not here. */
export const openRedisChannel =
  ({ url, log }: { url: string; log: Logger }): OpenChannel =>
  (onMessage) => {
    const publisher = createClient({
      url,
      // A hint that cannot be sent now is of no use later.
      disableOfflineQueue: true,
      socket: { reconnectStrategy: (tries) => Math.min(tries * 100, 2_000) },
    });
    const subscriber = publisher.duplicate({ disableOfflineQueue: false });
    let isAway = false;
    publisher.on("error", (error: Error) => {
      if (!isAway) log.warn(error, "Redis does not answer: wake-ups wait for the next poll");
      isAway = true;
    });
    publisher.on("ready", () => {
      isAway = false;
    });
    subscriber.on("error", () => undefined);
    void publisher.connect().catch(() => undefined);
    void subscriber.connect().catch(() => undefined);
    // Remembered by the client, and repeated when it connects again.
    void subscriber.subscribe(CHANNEL, onMessage).catch(() => undefined);
    return {
      publish: async (text) => void (await publisher.publish(CHANNEL, text)),
      async close() {
        publisher.destroy();
        subscriber.destroy();
      },
    };
  };
