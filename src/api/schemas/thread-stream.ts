// The query of a thread's joined stream.
import { z } from "zod";
import { repeated } from "./common.ts";

const modes = repeated(z.enum(["run_modes", "lifecycle", "state_update"]));

/** The SDK says `stream_mode`, the documentation `stream_modes`. */
export const threadStreamQuery = z.object({ stream_mode: modes, stream_modes: modes });
