// Asks the rules for what a run's request is to do, and puts what they answer into it.
import type { FastifyRequest } from "fastify";
import type { RunRequest } from "../runs/create-run.ts";
import { runnableAssistants } from "./access.ts";

/** The request as the caller may make it: handlers may change what is asked. @throws AppError forbidden */
export async function permitRun({ access }: FastifyRequest, wanted: RunRequest): Promise<RunRequest> {
  const assistantScope = await runnableAssistants(access, wanted.assistantId);
  const { input, command, config, context } = wanted;
  const kwargs = { input, command, config, context };
  const value = {
    thread_id: wanted.threadId,
    assistant_id: wanted.assistantId,
    status: "pending",
    metadata: wanted.metadata ?? {},
    prevent_insert_if_inflight: wanted.multitaskStrategy === "reject",
    multitask_strategy: wanted.multitaskStrategy,
    if_not_exists: wanted.ifNotExists,
    after_seconds: wanted.afterSeconds,
    kwargs,
  };
  const scope = await access.check("threads", "create_run", value);
  return { ...wanted, ...kwargs, metadata: value.metadata, caller: access.caller, scope, assistantScope };
}
