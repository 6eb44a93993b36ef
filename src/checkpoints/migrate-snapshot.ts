// A snapshot for a graph that has changed since: refused, unless the project says what has become of each executor that
// differs (`checkpoints.migrations` of langgraph.json). Pure.
import { AppError } from "../errors.ts";
import { compareTopologies, type Topology } from "../graphs/topology.ts";
import { stateKeyOf } from "./view.ts";
import type { SnapshotRow, WorkflowCheckpoint } from "./workflow-checkpoint.ts";

/**
 * Executor then to executor now: its new name, its own when it is another one and that is meant, null when it is gone. A
 * task of it that was under way begins anew.
 */
export type Migration = Readonly<Record<string, string | null>>;

/** @throws AppError topology_mismatch naming the executors that differ */
export function migrateSnapshot(
  { topology, snapshot, messages }: Pick<WorkflowCheckpoint, "topology" | "snapshot" | "messages">,
  graph: Topology,
  migration: Migration = {},
): readonly SnapshotRow[] {
  if (topology.version === graph.version) return snapshot;
  // What is inside an executor differs with it.
  const isSaid = (name: string) => Object.hasOwn(migration, name.split(":")[0] ?? "");
  const found = compareTopologies(topology, graph);
  const cameFor = new Set(Object.values(migration).filter((name) => name !== null));
  const missing = found.missing.filter((name) => !isSaid(name) || isLost(migration, name, graph));
  const added = found.added.filter((name) => !cameFor.has(name.split(":")[0] ?? ""));
  const renamed = { executors: renameTargets(topology.executors, migration) };
  const changed = found.changed.filter(
    (name) => !isSaid(name) && compareTopologies(renamed, graph).changed.includes(name),
  );
  const differing = [...new Set([...missing, ...added, ...changed])];
  if (differing.length > 0) {
    throw new AppError(
      "topology_mismatch",
      `The graph has changed since this checkpoint; these executors differ: ${differing.join(", ")}. Declare what has become of them in checkpoints.migrations of langgraph.json.`,
      {
        details: { missing, added, changed, stored_version: topology.version, graph_version: graph.version },
      },
    );
  }
  const touched = new Set(
    [...found.missing, ...found.changed]
      .map((name) => name.split(":")[0] ?? "")
      .filter((name) => isSaid(name)),
  );
  const dropped = new Set(
    [...touched].flatMap((name) => (messages[name] ?? []).flatMap(({ task_id }) => task_id ?? [])),
  );
  return snapshot
    .filter(({ checkpoint_ns }) => !touched.has(checkpoint_ns.split(/[:|]/)[0] ?? ""))
    .map((row) => (row.checkpoint_ns === "" ? toRenamed(row, migration, dropped) : row));
}

/** Whether the executor that it is said to have become is none. */
function isLost(migration: Migration, name: string, { executors }: Topology): boolean {
  const now = migration[name.split(":")[0] ?? ""];
  return typeof now === "string" && !Object.keys(executors).some((id) => id.split(":")[0] === now);
}

/** Ways to an executor that has another name now, or is gone. */
function renameTargets(executors: Topology["executors"], migration: Migration): Topology["executors"] {
  const toNow = (target: string) => {
    const name = target.replace(/\?$/, "");
    if (!Object.hasOwn(migration, name)) return [target];
    const now = migration[name];
    return typeof now === "string" ? [target.replace(name, now)] : [];
  };
  return Object.fromEntries(
    Object.entries(executors).map(([name, targets]) => [name, targets.flatMap(toNow).sort()]),
  );
}

function toRenamed(row: SnapshotRow, migration: Migration, dropped: ReadonlySet<string>): SnapshotRow {
  const names = new Map<string, string | null>();
  for (const [before, now] of Object.entries(migration)) {
    names.set(`branch:to:${before}`, now === null ? null : `branch:to:${now}`);
    names.set(stateKeyOf(before), now === null ? null : stateKeyOf(now));
  }
  const toNow = (channel: string) => (names.has(channel) ? names.get(channel) : channel);
  const rename = <T>(record: Readonly<Record<string, T>> = {}, of = toNow) =>
    Object.fromEntries(
      Object.entries(record).flatMap(([key, value]) => {
        const now = of(key);
        return typeof now === "string" ? [[now, value]] : [];
      }),
    );
  const { channel_versions, versions_seen, ...checkpoint } = row.checkpoint;
  const toExecutor = (name: string) => (Object.hasOwn(migration, name) ? migration[name] : name);
  const seen = Object.entries(rename(versions_seen, toExecutor)).map(([name, versions]) => [
    name,
    rename(versions),
  ]);
  return {
    ...row,
    checkpoint: {
      ...checkpoint,
      channel_versions: rename(channel_versions),
      versions_seen: Object.fromEntries(seen),
    },
    values: row.values.flatMap(([channel, version, type, data]) => {
      const now = toNow(channel);
      if (typeof now !== "string") return [];
      return [[now, version, type, channel === "__pregel_tasks" ? renameSends(data, migration) : data]];
    }),
    writes: row.writes.flatMap(([task, number, channel, type, data]) => {
      const now = dropped.has(task) ? undefined : toNow(channel);
      return typeof now === "string" ? [[task, number, now, type, data]] : [];
    }),
  };
}

/** Tasks that were sent and not begun; one for an executor that is gone is not run. */
function renameSends(data: string | null, migration: Migration): string | null {
  const sends: unknown = data === null ? null : JSON.parse(data);
  if (!Array.isArray(sends)) return data;
  return JSON.stringify(
    sends.flatMap((send: { node: string }) => {
      const now = Object.hasOwn(migration, send.node) ? migration[send.node] : send.node;
      return typeof now === "string" ? [{ ...send, node: now }] : [];
    }),
  );
}
