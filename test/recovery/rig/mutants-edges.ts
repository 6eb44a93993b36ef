// Mutants at the edges: where answers are lost, and towards clients that vanish or do not read.
import type { Mutant } from "./mutants.ts";

export const EDGE_MUTANTS: readonly (readonly [string, Mutant])[] = [
  [
    "vanished-client-ignored",
    {
      breaks: "a client that vanishes cancels its run, if it has asked for that",
      scenarios: ["vanish"],
      patches: [
        {
          file: "src/api/run-readers.ts",
          find: "await sendEvents(request, reply, pages, { signal, draining });\n      if (cancel)",
          put: "await sendEvents(request, reply, pages, { signal, draining });\n      if (!cancel && cancel)",
        },
      ],
    },
  ],
  [
    "no-back-pressure",
    {
      breaks: "a reader that does not read is waited for",
      scenarios: ["stalled"],
      patches: [
        {
          file: "src/api/sse.ts",
          find: 'if (!raw.write(text) && !signal.aborted) await once(raw, "drain", { signal });',
          put: 'if (!raw.write(text) && signal.aborted) await once(raw, "drain", { signal });',
        },
      ],
    },
  ],
  [
    "graph-error-for-an-outage",
    {
      breaks: "whatever a request needs from a database that is away is answered with 503",
      scenarios: ["lost-replies"],
      patches: [
        {
          file: "src/runs/create-run.ts",
          find: 'if (!isAppError(error, "assistant_not_found")) throw error;',
          put: "",
        },
      ],
    },
  ],
];
