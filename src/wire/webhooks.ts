// Tells others of runs' ends, with what they read of a run, and by which way a path of this server is posted to.
import type { Logger } from "pino";
import type { Loopback } from "../api/loopback.ts";
import type { Auth } from "../auth/auth.ts";
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Database } from "../db/database.ts";
import { toWireJson } from "../events/wire-json.ts";
import { readResult } from "../runs/read-result.ts";
import type { ThreadStates } from "../threads/state.ts";
import { startDelivering } from "../webhooks/deliver.ts";
import type { Allowed } from "../webhooks/target.ts";

interface WebhookParts {
  readonly db: Database;
  readonly log: Logger;
  readonly checkpointer: Checkpointer;
  readonly states: ThreadStates;
  readonly allowed: Allowed;
  readonly secret: string | undefined;
  /** Undefined: this server has no routes. */
  readonly loopback: Loopback | undefined;
  /** What who has asked for a run may do. */
  readonly accessOf: Auth["accessOf"];
}

export const wireWebhooks = ({
  db,
  log,
  checkpointer,
  states,
  allowed,
  secret,
  loopback,
  accessOf,
}: WebhookParts) =>
  startDelivering({
    db,
    log,
    allowed,
    secret,
    readValues: async (run) => {
      const values = await readResult({ db, checkpointer, states }, run);
      return values === undefined ? undefined : JSON.parse(toWireJson(values));
    },
    postHere:
      loopback &&
      (async (path, message, user) => {
        const answer = await loopback.fetchAs(accessOf(user))(path, { method: "POST", ...message });
        await answer.body?.cancel();
        return answer.status;
      }),
  });
