// What a run sets of the team, in `configurable`: who takes part, and how long they may go on. They are part of the graph,
// so the thread keeps them for whoever reads its state.
import { z } from "zod";

/** Names of nodes that are not participants. */
const RESERVED = new Set(["orchestrator", "plan_review", "messages"]);

/** What participants may be given to work with, in the thread's files. */
const TOOLS = ["bash", "ls", "read_file", "write_file", "str_replace", "glob", "grep"] as const;

const participant = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,39}$/, "begins with a small letter; small letters, digits, - and _ follow")
    .refine((name) => !RESERVED.has(name), "is the name of another executor"),
  /** For the orchestrator: what he is to be asked for. */
  description: z.string().min(1).max(2_000),
  /** For himself: how he works. */
  instructions: z.string().max(20_000).default(""),
  /** One of GET /models; the team's by default. */
  model_name: z.string().optional(),
  tools: z.array(z.enum(TOOLS)).default([]),
});
export type Participant = z.output<typeof participant>;

const DEFAULT: z.input<typeof participant>[] = [
  {
    name: "researcher",
    description: "Collects what is known and what is not, and says how sure it is.",
  },
  {
    name: "analyst",
    description: "Works out what follows from it: numbers, comparisons, reasons for and against.",
  },
  {
    name: "writer",
    description: "Puts what the others have found into a text for the user.",
  },
];

const schema = z.object({
  participants: z
    .array(participant)
    .min(1)
    .max(12)
    .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, "two have the same name")
    .prefault(DEFAULT),
  /** Whether a person says yes to each plan before anybody works by it. */
  plan_review: z.boolean().default(false),
  /** Turns of participants for one task. */
  max_rounds: z.int().min(1).max(100).default(12),
  /** Rounds without progress after which a new plan is made. */
  max_stalls: z.int().min(0).max(20).default(2),
  /** New plans for one task. */
  max_replans: z.int().min(0).max(20).default(2),
  model_name: z.string().optional(),
});
export type TeamSettings = z.output<typeof schema>;

/** @throws Error naming the setting that is wrong */
export function readTeamSettings(configurable: unknown): TeamSettings {
  const { data, error } = schema.safeParse(configurable ?? {});
  if (data) return data;
  const [issue] = error.issues;
  throw new Error(`The team's ${issue?.path.join(".") || "settings"}: ${issue?.message}.`);
}
