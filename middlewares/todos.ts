// The todo list of plan mode (document 000, "todos"): the tool write_todos, offered only in a run with
// `is_plan_mode`, and a guard that sends a final answer back while todos are open, at most twice per turn. What was
// sent back is noted in the state, so it is counted right after a restart too and stays at its place in every
// later request, which keeps the prompt's prefix stable.
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { createMiddleware } from "langchain";
import { z } from "zod";
import { defineTool, runSetting, ThreadState, type Todo } from "#kit";

const MAX_REMINDERS = 2;
const WRITE_TODOS = "write_todos";

const todosState = ThreadState.pick("todos").extend({
  /** What was said to the model after which of its messages. */
  _todo_reminders: { type: z.array(z.object({ after: z.string(), text: z.string() })).default([]) },
});
const contextSchema = z.object({ is_plan_mode: z.boolean().optional() });

export function createTodos() {
  return createMiddleware({
    name: "todos",
    stateSchema: todosState.schema,
    contextSchema,
    tools: [writeTodos],
    wrapModelCall: (request, handler) => {
      const tools = isPlanMode(request.runtime)
        ? request.tools
        : request.tools.filter((candidate) => candidate.name !== WRITE_TODOS);
      const messages = withReminders(request.messages, request.state._todo_reminders ?? []);
      return handler({ ...request, tools, messages });
    },
    wrapToolCall: (request, handler) => {
      const { name, id = "" } = request.toolCall;
      if (name !== WRITE_TODOS) return handler(request);
      const refusal = (content: string) =>
        new ToolMessage({ content, tool_call_id: id, name, status: "error" });
      if (!isPlanMode(request.runtime))
        return refusal("write_todos is for plan mode, and this run is not in it.");
      const calls = request.state.messages.findLast((message) => AIMessage.isInstance(message))?.tool_calls;
      const count = calls?.filter((call) => call.name === WRITE_TODOS).length ?? 0;
      if (count <= 1) return handler(request);
      return refusal(
        `write_todos takes the whole list and was called ${count} times at once; nothing was changed. Call it once.`,
      );
    },
    afterAgent: {
      canJumpTo: ["model"],
      hook: (state, runtime) => {
        const open = state.todos?.filter(({ status }) => status !== "completed") ?? [];
        const last = state.messages.at(-1);
        if (!isPlanMode(runtime) || open.length === 0 || !AIMessage.isInstance(last) || !last.id)
          return undefined;
        if (countThisTurn(state.messages, state._todo_reminders ?? []) >= MAX_REMINDERS) return undefined;
        return { _todo_reminders: [{ after: last.id, text: remind(open) }], jumpTo: "model" as const };
      },
    },
  });
}

const writeTodos = defineTool({
  name: WRITE_TODOS,
  description:
    "Writes your todo list for this conversation, whole: it replaces the former one. Use it for work of three steps " +
    "or more, before you begin, and again whenever a step begins or ends. Mark what you work on as in_progress and " +
    "what is done as completed, at once and only when it is really done. Call it once per turn.",
  schema: z.object({
    todos: z.array(
      z.object({
        id: z.string().optional().describe("Kept over updates; given by the system when left out."),
        title: z.string().min(1).describe("One step, in a few words."),
        status: z.enum(["pending", "in_progress", "completed"]),
      }),
    ),
  }),
  state: ThreadState,
  outputsToState: { todos: {} },
  run: ({ todos }) => withIds(todos),
  toContent: (todos) => `The todo list is now:\n${todos.map(toLine).join("\n") || "empty"}`,
});

type Reminder = { readonly after: string; readonly text: string };

function isPlanMode(run: Parameters<typeof runSetting>[0]): boolean {
  return runSetting(run, "is_plan_mode") === true;
}

function withReminders(messages: BaseMessage[], reminders: readonly Reminder[]): BaseMessage[] {
  if (reminders.length === 0) return messages;
  const texts = new Map(reminders.map(({ after, text }) => [after, text]));
  return messages.flatMap((message) => {
    const text = texts.get(message.id ?? "");
    return text === undefined ? [message] : [message, new HumanMessage(text)];
  });
}

function countThisTurn(messages: readonly BaseMessage[], reminders: readonly Reminder[]): number {
  const start = messages.findLastIndex((message) => HumanMessage.isInstance(message));
  const ids = new Set(messages.slice(start + 1).map(({ id }) => id));
  return reminders.filter(({ after }) => ids.has(after)).length;
}

function remind(open: readonly Todo[]): string {
  return (
    `<reminder>\nYour todo list still has open entries:\n${open.map(toLine).join("\n")}\n` +
    "Go on with them, or bring the list up to date with write_todos. If something cannot be done, take it off the " +
    "list and tell the user why.\n</reminder>"
  );
}

function toLine({ id, title, status }: Todo): string {
  return `- [${status}] ${title} (${id})`;
}

/** Every todo with an id of its own, as document 000 names them. */
function withIds(todos: readonly (Omit<Todo, "id"> & { readonly id?: string })[]): Todo[] {
  const taken = new Set<string>();
  return todos.map(({ id, title, status }, index) => {
    let own = id || `todo-${index + 1}`;
    for (let next = todos.length + 1; taken.has(own); next++) own = `todo-${next}`;
    taken.add(own);
    return { id: own, title, status } as Todo;
  });
}
