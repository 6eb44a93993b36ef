// How far the research goes by itself: what a run sets, what the conversation has, what the settings say.
import { z } from "zod";
import { runSetting } from "#kit";

const MODES = ["semi-autonomous", "fully-autonomous", "steering"] as const;
export type Mode = (typeof MODES)[number];

/** Iterations of one message. Steering stops after each, and the user's next message says where to go. */
export interface IterationSettings {
  readonly semi_autonomous: number;
  readonly fully_autonomous: number;
}

/** What a run may set, as context or in `configurable`: LangGraph refuses what does not fit. Studio makes a form of it. */
export const contextSchema = z.looseObject({
  model_name: z.string().optional().describe("Name of the model that answers; GET /models lists them."),
  research_mode: z.enum(MODES).optional().describe("How far the research goes by itself."),
  max_iterations: z.int().min(1).max(50).optional().describe("Iterations of this message at most."),
});

interface Run {
  readonly context?: unknown;
  readonly configurable?: unknown;
}

/** What the run asks for, else what the conversation was last led by, else the setting. @throws ZodError */
export function readMode(run: Run, held: Mode | undefined, byDefault: Mode): Mode {
  const asked = contextSchema.shape.research_mode.nullish().parse(runSetting(run, "research_mode"));
  return asked ?? held ?? byDefault;
}

/** @throws ZodError */
export function readMaxIterations(run: Run, mode: Mode, settings: IterationSettings): number {
  if (mode === "steering") return 1;
  const asked = contextSchema.shape.max_iterations.nullish().parse(runSetting(run, "max_iterations"));
  return asked ?? (mode === "semi-autonomous" ? settings.semi_autonomous : settings.fully_autonomous);
}
