import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import fc from "fast-check";
import {
  type AgentMiddleware,
  contextEditingMiddleware,
  createAgent,
  createMiddleware,
  modelCallLimitMiddleware,
  modelRetryMiddleware,
  piiMiddleware,
  todoListMiddleware,
  toolCallLimitMiddleware,
  toolRetryMiddleware,
} from "langchain";
import { expect, test } from "vitest";
import { z } from "zod";
import { ScriptedModel } from "../../../test/helpers/scripted-model.ts";
import { defineState } from "../define-state.ts";
import { fuseMiddlewares } from "../middleware.ts";

const Trail = defineState({ trail: { type: z.array(z.string()) }, answers: { type: z.number() } });
const stateSchema = Trail.schema;
const step = (state: { trail: string[] | null }, text: string) => [`${text}${state.trail?.length ?? 0}`];

/** One factory per way a middleware can act; `log` records what each hook saw. */
const pool: Record<string, (log: string[]) => AgentMiddleware> = {
  hooks: (log) =>
    createMiddleware({
      name: "hooks",
      stateSchema,
      beforeAgent: (state) => {
        log.push(`hooks.beforeAgent ${state.trail}`);
        return { trail: step(state, "hooks") };
      },
      afterAgent: (state) => {
        log.push(`hooks.afterAgent ${state.trail}`);
        return { trail: step(state, "bye"), messages: [new AIMessage({ id: "bye", content: "bye" })] };
      },
    }),
  greeter: (log) =>
    createMiddleware({
      name: "greeter",
      beforeAgent: (state) => {
        log.push(`greeter sees ${state.messages.length}`);
        const [first] = state.messages;
        return { messages: [new HumanMessage({ id: first?.id, content: `Hello! ${first?.text}` })] };
      },
    }),
  counter: (log) =>
    createMiddleware({
      name: "counter",
      stateSchema: z.object({ count: z.number().default(0) }),
      contextSchema: z.object({ by: z.number().default(1) }),
      beforeModel: (state, runtime) => {
        log.push(`counter ${state.count} by ${runtime.context.by}`);
        return { count: state.count + runtime.context.by };
      },
      wrapModelCall: (request, handler) => {
        log.push(`counter wraps ${request.state.count} by ${request.runtime.context.by}`);
        return handler(request);
      },
    }),
  prompt: () =>
    createMiddleware({
      name: "prompt",
      wrapModelCall: (request, handler) =>
        handler({ ...request, systemPrompt: `${request.systemPrompt} prompt` }),
    }),
  system: () =>
    createMiddleware({
      name: "system",
      wrapModelCall: (request, handler) =>
        handler({ ...request, systemMessage: request.systemMessage.concat(" system") }),
    }),
  commander: (log) =>
    createMiddleware({
      name: "commander",
      stateSchema,
      wrapModelCall: async (request, handler) => {
        const reply = await handler(request);
        log.push(`commander sees ${reply.text}`);
        return new Command({ update: { trail: step(request.state, "commander"), answers: 7 } });
      },
    }),
  rewriter: () =>
    createMiddleware({
      name: "rewriter",
      wrapModelCall: async (request, handler) => {
        const reply = await handler(request);
        return new AIMessage({
          id: `new-${reply.id}`,
          content: `${reply.text}!`,
          tool_calls: reply.tool_calls ?? [],
        });
      },
    }),
  secondTry: () =>
    createMiddleware({
      name: "secondTry",
      wrapModelCall: async (request, handler) => {
        const reply = await handler(request);
        const again = new HumanMessage({ id: "again", content: "again" });
        return reply.text.startsWith("weak")
          ? handler({ ...request, messages: [...request.messages, again] })
          : reply;
      },
    }),
  stamp: (log) =>
    createMiddleware({
      name: "stamp",
      stateSchema,
      wrapToolCall: async (request, handler) => {
        const result = await handler(request);
        log.push(`stamp ${request.toolCall.name} ${request.state.trail}`);
        const message = result as ToolMessage;
        if (!ToolMessage.isInstance(message)) return result;
        return new Command({ update: { trail: ["stamp"], messages: [message] } });
      },
    }),
  shout: () =>
    createMiddleware({
      name: "shout",
      wrapToolCall: async (request, handler) => {
        const result = await handler({
          ...request,
          toolCall: { ...request.toolCall, args: { text: "shouted" } },
        });
        if (ToolMessage.isInstance(result)) result.content = `${result.text}!`;
        return result;
      },
    }),
  once: (log) =>
    createMiddleware({
      name: "once",
      stateSchema: z.object({ sentBack: z.boolean().default(false) }),
      afterAgent: {
        canJumpTo: ["model"],
        hook: (state) => {
          log.push(`once ${state.sentBack}`);
          return state.sentBack ? undefined : { sentBack: true, jumpTo: "model" };
        },
      },
    }),
  afterwards: (log) =>
    createMiddleware({
      name: "afterwards",
      stateSchema: z.object({ repeated: z.number().default(0) }),
      afterModel: {
        canJumpTo: ["model", "end"],
        hook: (state) => {
          log.push(`afterwards ${state.repeated} ${state.messages.at(-1)?.text}`);
          if (state.messages.at(-1)?.text.includes("reply") && state.repeated === 0) {
            return { repeated: 1, jumpTo: "model" };
          }
          return state.repeated === 1 ? { repeated: 2, jumpTo: "end" } : undefined;
        },
      },
    }),
  watcher: (log) =>
    createMiddleware({
      name: "watcher",
      stateSchema,
      afterModel: (state) => {
        log.push(`watcher ${state.messages.at(-1)?.text} ${state.trail}`);
        return { trail: step(state, "watcher") };
      },
    }),
  callLimit: () => modelCallLimitMiddleware({ runLimit: 3, exitBehavior: "end" }),
  toolLimit: () => toolCallLimitMiddleware({ runLimit: 1 }),
  todoList: () => todoListMiddleware(),
  contextEditing: () => contextEditingMiddleware(),
  pii: () => piiMiddleware("email", { strategy: "redact" }),
  modelRetry: () => modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 0, onFailure: "error" }),
  toolRetry: () => toolRetryMiddleware({ maxRetries: 1, initialDelayMs: 0 }),
};

const echo = tool(({ text }) => `echo ${text}`, {
  name: "echo",
  description: "Echoes.",
  schema: z.object({ text: z.string() }),
});

async function run(fuse: boolean, names: readonly string[], version: "v1" | "v2") {
  const log: string[] = [];
  const list = names.flatMap((name) => pool[name]?.(log) ?? []);
  const model = new ScriptedModel((_request, index) => {
    if (index === 0) return { tool_calls: ["a", "b"].map((text) => ({ name: "echo", args: { text } })) };
    return index === 1 ? "weak reply" : `final reply ${index}`;
  });
  const agent = createAgent({
    version,
    model,
    tools: [echo],
    systemPrompt: "You are a test.",
    middleware: fuse ? [fuseMiddlewares("chain", list)] : list,
  });
  const input = { messages: [new HumanMessage({ id: "1", content: "Write to ann@example.com" })] };
  const outcome = await agent.graph
    .invoke(input, { context: { by: 2, other: "x" }, recursionLimit: 60 })
    .then(plain, (error: Error) => ({ error: error.message }));
  const requests = model.requests.map(({ messages, tools }) => ({ messages: messages.map(toPlain), tools }));
  return { outcome, log, requests };
}

/** A state without what differs by nature: random ids, and the notes that routing leaves behind. */
function plain({ jumpTo: _jump, _late_jump, ...state }: Record<string, unknown>) {
  return { ...state, messages: (state.messages as BaseMessage[]).map(toPlain) };
}

function toPlain(message: BaseMessage) {
  const { tool_calls, tool_call_id, name } = message as AIMessage & ToolMessage;
  return { type: message.type, name, text: message.text, tool_calls, tool_call_id };
}

test("a fused chain does what the same middlewares do one by one, in any order", async () => {
  const chains = fc.shuffledSubarray(Object.keys(pool), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(chains, fc.constantFrom("v1", "v2"), async (names, version) => {
      expect(await run(true, names, version)).toEqual(await run(false, names, version));
    }),
    { numRuns: 120 },
  );
});
