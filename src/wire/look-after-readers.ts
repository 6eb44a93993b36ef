// Looks after whoever reads something here that nobody has told: runs, threads, conversations.
import type { Logger } from "pino";
import { selectLastNotifications } from "../conversations/notifications.sql.ts";
import type { Database } from "../db/database.ts";
import type { Hub } from "../events/hub.ts";
import { startPolling } from "../events/poll-log.ts";
import { selectThreadVersions } from "../events/thread-runs.sql.ts";
import type { Wakeups } from "../events/wakeups.ts";
import { watchVersions } from "../events/watch-versions.ts";
import type { Worker } from "../runs/worker.ts";

interface LookOptions {
  readonly db: Database;
  readonly hub: Hub;
  readonly threadHub: Hub;
  readonly conversationHub: Hub;
  readonly wakeups: Wakeups;
  readonly worker: Worker;
  readonly log: Logger;
}

/** Looks until the returned function is called. */
export function lookAfterReaders({
  db,
  hub,
  threadHub,
  conversationHub,
  wakeups,
  worker,
  log,
}: LookOptions): () => void {
  const announce = (id: string) => wakeups.send({ kind: "follow", runId: id });
  const stops = [
    startPolling({
      db,
      hub,
      log,
      announce: (runId) => {
        if (!worker.has(runId)) announce(runId);
      },
    }),
    watchVersions({
      hub: threadHub,
      select: (threadIds) => selectThreadVersions(db, threadIds),
      announce,
      log,
      failure: "threads cannot be watched: readers wait",
    }),
    watchVersions({
      hub: conversationHub,
      select: (threadIds) => selectLastNotifications(db, threadIds),
      announce,
      log,
      failure: "conversations cannot be watched: those who follow them wait",
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}
