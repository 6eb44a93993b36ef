// The query of a run's, or a thread's, envelopes.
import { z } from "zod";
import { PROFILES } from "../../envelope/schema.ts";

export const envelopesQuery = z.object({
  profile: z.enum(PROFILES).default("user"),
  /** Without it, the header Accept decides. */
  format: z.enum(["sse", "jsonl"]).optional(),
});

export type EnvelopesQuery = z.output<typeof envelopesQuery>;
