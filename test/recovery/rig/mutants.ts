// Mutants: each breaks one protection, and a scenario must catch it. `patches` change sources as they are loaded,
// `functions` change functions of the schema after the migrations.
import { EDGE_MUTANTS } from "./mutants-edges.ts";
import { SERVICE_MUTANTS } from "./mutants-services.ts";
import type { Patch } from "./patch.ts";

interface FunctionPatch {
  /** Name in the schema heddle. */
  readonly name: string;
  /** Stands in the function's definition exactly once. */
  readonly find: string;
  readonly put: string;
}

export interface Mutant {
  /** The protection that is gone. */
  readonly breaks: string;
  /** Scenarios of the short profile that are to catch it. */
  readonly scenarios: readonly string[];
  readonly patches?: readonly Patch[];
  readonly functions?: readonly FunctionPatch[];
}

const EVENTS = "src/events/event-log.sql.ts";
const RUNS = "src/runs/runs.sql.ts";
const OWNED = "from event e join owned o on o.run_id = e.run_id and o.fencing_token = e.token";
const UNOWNED = "from event e join owned o on o.run_id = e.run_id";

export const MUTANTS: ReadonlyMap<string, Mutant> = new Map<string, Mutant>([
  [
    "checkpoint-without-fence",
    {
      breaks: "the token check of each put and putWrites",
      scenarios: ["pause"],
      patches: [
        {
          file: "src/db/checkpointer.sql.ts",
          find: "select $2::bigint is null or exists (select 1 from fence) as ok",
          put: "select true as ok",
        },
      ],
    },
  ],
  [
    "event-without-fence",
    {
      breaks: "the token check of each event",
      scenarios: ["pause-events"],
      patches: [
        { file: EVENTS, find: `${OWNED}\n       on conflict`, put: `${UNOWNED}\n       on conflict` },
        { file: EVENTS, find: `${OWNED}\``, put: `${UNOWNED}\`` },
      ],
    },
  ],
  [
    "end-without-fence",
    {
      breaks: "the token check of a run's end",
      scenarios: ["pause-ends"],
      functions: [{ name: "finish_run", find: "and r.fencing_token = token ", put: "" }],
    },
  ],
  [
    "release-without-fence",
    {
      breaks: "the token check when a run is given back",
      scenarios: ["pause-releases"],
      patches: [
        {
          file: RUNS,
          find: "and r.fencing_token = $3::bigint and r.status = 'running'`",
          put: "and r.status = 'running'`",
        },
        {
          file: RUNS,
          find: "where thread_id = $1::uuid and fencing_token = $3::bigint",
          put: "where thread_id = $1::uuid and $3::bigint is not null",
        },
      ],
    },
  ],
  [
    "token-that-stays",
    {
      breaks: "the growth of the token with each claim",
      scenarios: ["pause", "kill"],
      functions: [
        {
          name: "claim_run",
          find: "set fencing_token = t.fencing_token + 1",
          put: "set fencing_token = greatest(t.fencing_token, 1)",
        },
      ],
    },
  ],
  [
    "workers-clock",
    {
      breaks: "leases by the database's clock",
      scenarios: ["clocks"],
      patches: [
        {
          file: RUNS,
          find: "set lease_until = clock_timestamp() + make_interval(secs => $3::double precision)",
          // biome-ignore lint/suspicious/noTemplateCurlyInString: it becomes a part of a template string
          put: "set lease_until = to_timestamp(${Date.now() / 1000}) + make_interval(secs => $3::double precision)",
        },
      ],
    },
  ],
  [
    "latest-by-id",
    {
      breaks: "the latest checkpoint by the database's sequence",
      scenarios: ["clocks"],
      patches: [
        {
          file: "src/db/checkpointer.sql.ts",
          find: "order by seq desc limit 1`",
          put: "order by checkpoint_id desc limit 1`",
        },
      ],
    },
  ],
  [
    "claim-without-locks",
    {
      breaks: "the locks of a claim: the thread's row, and the run's",
      scenarios: ["race", "kill"],
      functions: [
        {
          name: "claim_run",
          find: "perform 1 from heddle.threads t where t.thread_id = candidate for update skip locked;",
          // As long as it takes to lose a race that is otherwise won by microseconds.
          put: "perform pg_sleep(0.01) from heddle.threads t where t.thread_id = candidate;",
        },
        { name: "claim_run", find: "limit 1\n    for no key update;", put: "limit 1;" },
      ],
    },
  ],
  [
    "claim-beside-a-running-run",
    {
      breaks: "one run of a thread at a time",
      scenarios: ["race"],
      functions: [
        { name: "claim_run", find: "and live.lease_until >= clock_timestamp()", put: "and false" },
        {
          name: "claim_run",
          find: "order by r.status = 'running' desc, r.run_number",
          put: "order by r.status = 'pending' desc, r.run_number",
        },
      ],
    },
  ],
  [
    "leases-not-renewed",
    {
      breaks: "the renewal of leases",
      scenarios: ["block"],
      patches: [
        {
          file: "src/runs/lease-thread.ts",
          find: 'if (message.kind === "hold") leases.set(message.runId, message);',
          put: "",
        },
      ],
    },
  ],
  [
    "events-before-commit",
    {
      breaks: "readers get events only when they are committed",
      scenarios: ["crash-events"],
      patches: [
        {
          file: "src/events/event-log.ts",
          find: "owned = await insertEvents(db, events);",
          put: "for (const [early, ready] of batch) hub.publish(early.runId, ready); await new Promise((go) => setTimeout(go, 5)); $&",
        },
      ],
    },
  ],
  [
    "events-from-zero",
    {
      breaks: "an attempt's events go on behind the last one's",
      scenarios: ["crash-events", "kill"],
      patches: [
        {
          file: "src/runs/execute-run.ts",
          find: "run.attempt > 1 ? (await selectLastSeq(deps.patient, run.run_id)) + 1 : 0",
          put: "0",
        },
      ],
    },
  ],
  [
    "stream-ends-early",
    {
      breaks: "a stream ends when its run has a final status",
      scenarios: ["streams"],
      patches: [{ file: EVENTS, find: "FINISHED.has(status)", put: "true" }],
    },
  ],
  [
    "cancel-not-told",
    {
      breaks: "a cancel reaches the run on another server",
      scenarios: ["cancel"],
      patches: [
        {
          file: RUNS,
          find: "returning r.run_id, r.cancel_action`",
          put: "returning r.run_id, null as cancel_action`",
        },
      ],
    },
  ],
  [
    "no-end-to-attempts",
    {
      breaks: "a run that kills its servers is given up",
      scenarios: ["poison"],
      functions: [
        { name: "claim_run", find: "if claimed.crashes >= max_crashes and", put: "if false and" },
        {
          name: "claim_run",
          find: "claimed.crashes >= below_crashes and claimed.crashes < max_crashes",
          put: "false",
        },
      ],
    },
  ],
  [
    "no-idempotency",
    {
      breaks: "a request sent again makes no second run",
      scenarios: ["crash-requests"],
      patches: [
        {
          file: "src/runs/once.ts",
          find: "if (idempotencyKey === undefined) return undefined;",
          put: "if (idempotencyKey !== null) return undefined;",
        },
      ],
    },
  ],
  [
    "rollback-keeps-checkpoints",
    {
      breaks: "nothing of a run that is rolled back is left",
      scenarios: ["race"],
      patches: [
        {
          file: "src/runs/roll-back.sql.ts",
          find: "returning c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id",
          put: "and false $&",
        },
      ],
    },
  ],
  [
    "broken-connection-unheard",
    {
      breaks: "a connection that breaks ends no process",
      scenarios: ["backends"],
      patches: [{ file: "src/db/database.ts", find: 'pool.on("error", onError);', put: "" }],
    },
  ],
  [
    "outage-is-a-500",
    {
      breaks: "a database that is away is a 503, and a run waits for it",
      scenarios: ["postgres"],
      patches: [{ file: "src/db/database.ts", find: "return away\n", put: "return false && away\n" }],
    },
  ],
  ...EDGE_MUTANTS,
  ...SERVICE_MUTANTS,
]);
