// Mutants of what is built on runs and threads: crons, webhooks, conversations, sessions, named checkpoints.
import type { Mutant } from "./mutants.ts";

export const SERVICE_MUTANTS: readonly (readonly [string, Mutant])[] = [
  [
    "cron-without-lock",
    {
      breaks: "the lock of a cron that fires",
      scenarios: ["crons"],
      patches: [{ file: "src/crons/fire.sql.ts", find: "for no key update skip locked`", put: "`" }],
    },
  ],
  [
    "cron-in-two-transactions",
    {
      breaks: "the run and the next date of a cron in one transaction",
      scenarios: ["crons"],
      patches: [
        {
          file: "src/crons/fire.ts",
          find: "runs.createIn(tx, request)",
          put: "db.transaction((other) => runs.createIn(other, request))",
        },
      ],
    },
  ],
  [
    "webhook-taken-out-first",
    {
      breaks: "a webhook is in the outbox until its receiver has taken it",
      scenarios: ["webhooks"],
      patches: [
        {
          file: "src/webhooks/deliver.ts",
          find: "const signal = AbortSignal.any(",
          put: "await deleteWebhook(db, webhook.run_id); $&",
        },
      ],
    },
  ],
  [
    "webhook-without-lease",
    {
      breaks: "a webhook that is being sent is due to nobody else",
      scenarios: ["webhooks"],
      patches: [
        {
          file: "src/webhooks/webhooks.sql.ts",
          find: "due_at = clock_timestamp() + make_interval(secs => $1::double precision)",
          put: "due_at = clock_timestamp() + make_interval(secs => $1::double precision) * 0",
        },
      ],
    },
  ],
  [
    "patch-of-what-was-read",
    {
      breaks: "a change of a conversation merges into what the last one has left",
      scenarios: ["conversations"],
      patches: [
        {
          file: "src/conversations/conversations.sql.ts",
          find: "set values = heddle.merge_values(c.values,",
          put: "set values = heddle.merge_values((select values from heddle.conversation_states where conversation_id = $1::uuid),",
        },
      ],
    },
  ],
  [
    "notifications-from-now",
    {
      breaks: "who comes back is told what he has missed",
      scenarios: ["conversations"],
      patches: [
        {
          file: "src/conversations/follow-notifications.ts",
          find: "let last = isKnown ? (after ?? now.last) : now.last;",
          put: "let last = now.last;",
        },
      ],
    },
  ],
  [
    "messages-without-ids",
    {
      breaks: "a session knows a message that it has already",
      scenarios: ["sessions"],
      patches: [
        {
          file: "src/sessions/postgres-message-store.ts",
          find: "rows.map(({ message }) => fromStoredMessage(JSON.parse(message)))",
          put: "rows.map(({ message }) => Object.assign(fromStoredMessage(JSON.parse(message)), { id: undefined }))",
        },
        {
          file: "src/sessions/messages.sql.ts",
          find: "t.last_seq - $5::bigint + m.number, m.digest, m.message",
          put: "t.last_seq - $5::bigint + m.number, case when m.digest is null then m.digest end, m.message",
        },
      ],
    },
  ],
  [
    "checkpoint-before-it-is-saved",
    {
      breaks: "a named checkpoint is told of when it is saved",
      scenarios: ["sessions"],
      patches: [
        {
          file: "src/checkpoints/checkpoints.ts",
          find: "await storage.save(checkpoint);",
          put: "setTimeout(() => storage.save(checkpoint), 500);",
        },
      ],
    },
  ],
];
