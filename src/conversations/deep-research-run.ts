// Document 002 `deepResearchRun`, from the run's row and its lease: it cannot say otherwise than they do. Pure.
import type { DeepResearchRun } from "../kit/conversation-values.ts";
import type { ResearchRow } from "./conversations.sql.ts";

export function toDeepResearchRun(run: ResearchRow): DeepResearchRun {
  const startedAt = toTime(run.started_at ?? run.created_at);
  const endedAt = run.finished_at === null ? undefined : toTime(run.finished_at);
  const lastHeartbeatAt = run.lease_renewed_at === null ? startedAt : toTime(run.lease_renewed_at);
  const lastResult = toResult(run);
  return {
    isRunning: endedAt === undefined,
    rootMessageId: run.message_id ?? run.run_id,
    stateId: run.run_id,
    mode: "queue",
    jobId: run.run_id,
    startedAt,
    lastHeartbeatAt,
    // A run in the queue has no lease.
    expiresAt: endedAt ?? (run.lease_until === null ? lastHeartbeatAt : toTime(run.lease_until)),
    ...(lastResult === undefined ? {} : { lastResult }),
    ...(lastResult === "failed" ? { lastError: run.error ?? `The run was ${run.status}.` } : {}),
    ...(endedAt === undefined ? {} : { endedAt }),
  };
}

function toResult({ finished_at, status, crashes }: ResearchRow): DeepResearchRun["lastResult"] {
  if (finished_at !== null) return status === "success" ? "completed" : "failed";
  return crashes > 0 ? "stale_recovered" : undefined;
}

const toTime = (text: string) => new Date(text).toISOString();
