// The lead agent's chain. Before hooks and wraps run in this order, the first one outermost; after hooks run in
// reverse. Fused it is one middleware: one superstep before the agent, one after it, none in between.

import type { AgentMiddleware } from "langchain";
import { createMemorySessions, type Sandboxes, type ThreadFiles } from "#kit";
import { createChatHistory } from "./chat-history.ts";
import { createDanglingToolCalls } from "./dangling-tool-calls.ts";
import { createDebugState } from "./debug-state.ts";
import { createModelErrors } from "./model-errors.ts";
import { createSandbox } from "./sandbox.ts";
import { createServiceThread } from "./service-thread.ts";
import { createStateSize } from "./state-size.ts";
import { createStreamResults } from "./stream-results.ts";
import { createSummarization } from "./summarization.ts";
import { createThreadData } from "./thread-data.ts";
import { createTitle } from "./title.ts";
import { createTodos } from "./todos.ts";
import { createToolErrors } from "./tool-errors.ts";
import { createTurnIntegrity } from "./turn-integrity.ts";
import { createUploads } from "./uploads.ts";
import { createViewImage } from "./view-image.ts";

export interface MiddlewareOptions {
  readonly files: ThreadFiles;
  readonly sandboxes: Sandboxes;
  readonly summarization: Parameters<typeof createSummarization>[0];
  readonly viewImage: Parameters<typeof createViewImage>[0];
  readonly threadData?: { readonly lazyInit?: boolean };
  readonly sandbox?: { readonly lazyInit?: boolean };
  readonly title?: Parameters<typeof createTitle>[0];
  readonly modelErrors?: Parameters<typeof createModelErrors>[0];
  readonly toolErrors?: Parameters<typeof createToolErrors>[0];
  readonly stateSize?: Parameters<typeof createStateSize>[0];
  readonly debugState?: { readonly enabled: boolean } & Parameters<typeof createDebugState>[0];
}

/** The chain in order. Options that are left out take each middleware's own defaults. */
export function createMiddlewares(options: MiddlewareOptions): AgentMiddleware[] {
  const { files, sandboxes, debugState } = options;
  const openSession = createMemorySessions();
  return [
    // First: everything below may ask where the thread's folders are.
    createThreadData({ files, ...options.threadData }),
    // Before the model is called, and before debug-state, which shows what it found.
    createUploads({ files }),
    // Outermost around a tool: it streams what is left when all others are done with the result.
    createStreamResults(),
    // Early, so that its lazyInit: false acquires before anything else waits.
    createSandbox({ sandboxes, ...options.sandbox }),
    // Last of the before hooks: it shows the state that the agent starts with. Off by default.
    ...(debugState?.enabled ? [createDebugState(debugState)] : []),
    // After hooks run in reverse: the size is taken last, with the title in it.
    createStateSize(options.stateSize),
    // Above todos, so that an answer that todos sends back gets no title yet.
    createTitle(options.title),
    // Above all that change what the model reads: they see the session's messages as the thread's own. Above todos: what is
    // sent back has not been said.
    createChatHistory({ openSession }),
    // Outermost around the model call but for that: what the others add to a request is small and must not be summarized.
    createSummarization(options.summarization),
    // After the cut, so that calls and answers are whole in what is really sent.
    createDanglingToolCalls(),
    // Puts its reminders between messages that are in order by now; around tools it refuses before any of them runs.
    createTodos(),
    // The image comes last in the request, and again when the two below call the model once more.
    createViewImage(options.viewImage),
    // Inside those that need the calls beside their results; around turn-integrity, whose second attempt begins where the
    // first one did.
    createServiceThread({ openSession }),
    // Around model-errors: only a turn that has arrived can be judged.
    createTurnIntegrity(),
    // Innermost around the model: repeats the call itself.
    createModelErrors(options.modelErrors),
    // Innermost around a tool: an error of the tool, and of nothing else, becomes a message.
    createToolErrors(options.toolErrors),
  ];
}
