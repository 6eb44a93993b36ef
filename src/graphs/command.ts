// A command as a client sends it becomes LangGraph's.
import { Command, Send } from "@langchain/langgraph";

export interface ClientCommand {
  readonly goto?: unknown;
  readonly update?: unknown;
  readonly resume?: unknown;
}

export function toCommand({ goto, update, resume }: ClientCommand): Command {
  const targets = goto === undefined || goto === null ? [] : Array.isArray(goto) ? goto : [goto];
  return new Command({
    ...(targets.length === 0 ? {} : { goto: targets.map(toTarget) }),
    ...(update === undefined || update === null ? {} : { update: update as Record<string, unknown> }),
    ...(resume === undefined ? {} : { resume }),
  });
}

const toTarget = (target: unknown): string | Send =>
  typeof target === "object" && target !== null && "node" in target && typeof target.node === "string"
    ? new Send(target.node, "input" in target ? target.input : {})
    : String(target);
