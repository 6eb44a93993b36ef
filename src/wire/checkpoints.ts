// Puts the parts of the named checkpoints together.
import type { Logger } from "pino";
import { createCheckpoints } from "../checkpoints/checkpoints.ts";
import { checkFrequency, createFrequentSaves } from "../checkpoints/frequency.ts";
import { createStorages } from "../checkpoints/storages.ts";
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Database } from "../db/database.ts";
import { toWireJson } from "../events/wire-json.ts";
import type { Project } from "../graphs/langgraph-json.ts";
import type { Graphs } from "../graphs/registry.ts";
import { createTopologies } from "../graphs/topology.ts";
import type { RunConfig } from "../runs/run-kwargs.ts";
import type { Ttl } from "../threads/threads.sql.ts";

interface CheckpointParts {
  readonly db: Database;
  readonly graphs: Graphs;
  readonly checkpointer: Checkpointer;
  readonly project: Project;
  readonly redisUrl: string | undefined;
  readonly ttl: Ttl | undefined;
  readonly log: Logger;
}

export function wireCheckpoints({ project, redisUrl, log, ...deps }: CheckpointParts) {
  const storages = createStorages({ db: deps.db, redisUrl });
  const topologies = createTopologies();
  const { migrations = {} } = project.checkpoints;
  const checkpoints = createCheckpoints({ ...deps, storages, topologies, migrations, toJson: toWireJson });
  return {
    checkpoints,
    storages,
    topologies,
    checkFrequency: (run: { readonly config?: RunConfig | undefined }) => checkFrequency(storages, run),
    openSaves: createFrequentSaves({ checkpoints, storages, checkpointer: deps.checkpointer, log }),
  };
}
