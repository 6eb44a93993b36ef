// Repairs the tool calls of a history in the copy that goes to the model, never in the state: calls without an
// answer (a run was stopped), answers without a call (messages were removed), missing, empty or doubled ids, empty
// names. Endpoints refuse such a history with a 400, and the thread would be stuck for good.
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { createMiddleware } from "langchain";

export function createDanglingToolCalls() {
  return createMiddleware({
    name: "dangling-tool-calls",
    wrapModelCall: (request, handler) => handler({ ...request, messages: repair(request.messages) }),
  });
}

type ToolCall = NonNullable<AIMessage["tool_calls"]>[number];

/** A call of the model, and the message that answers it. */
interface Slot {
  /** As it is in the history. */
  readonly written: ToolCall;
  /** With a name, and an id that no other call has. */
  readonly call: ToolCall;
  answer?: Answer;
}

interface Answer {
  readonly message: ToolMessage;
  /** Its place in the history. */
  readonly at: number;
}

const UNANSWERED = "This call was not run: the work was stopped before it.";

/**
 * The same history with every call answered right after its message. A history in order comes back as it is. The
 * outcome follows from the messages alone, and a message that is appended changes nothing before it, so the
 * prompt's prefix stays stable.
 */
function repair(messages: BaseMessage[]): BaseMessage[] {
  const turns = pair(messages);
  const repaired = messages.flatMap((message) => {
    // Answers are put after their call; one that was not taken there has none.
    if (ToolMessage.isInstance(message)) return [];
    if (!AIMessage.isInstance(message)) return [message];
    const slots = turns.get(message) ?? [];
    if (slots.length === 0 && isEmpty(message)) return [];
    return [withCalls(message, slots), ...toAnswers(slots)];
  });
  return isSame(repaired, messages) ? messages : repaired;
}

function pair(messages: readonly BaseMessage[]): Map<AIMessage, Slot[]> {
  const turns = new Map<AIMessage, Slot[]>();
  const ids = new Set<string>();
  const loose: Answer[] = [];
  let turn: Slot[] = [];
  for (const [index, message] of messages.entries()) {
    if (AIMessage.isInstance(message)) {
      turn = (message.tool_calls ?? []).map((written, at) => ({
        written,
        call: mend(written, ids, `${index}_${at}`),
      }));
      turns.set(message, turn);
    } else if (ToolMessage.isInstance(message)) {
      // Where ids repeat within a turn, or are missing, the answers come in the order of the calls.
      const slot = turn.find(
        ({ answer, written }) => !answer && (written.id || "") === (message.tool_call_id || ""),
      );
      if (slot) slot.answer = { message, at: index };
      else loose.push({ message, at: index });
    }
  }
  if (loose.length > 0) takeLoose([...turns.values()].flat(), loose);
  return turns;
}

/** Answers further away belong to a call only by an id, and only to one that nothing nearer has answered. */
function takeLoose(slots: readonly Slot[], loose: readonly Answer[]): void {
  const open = new Map(
    slots.flatMap((slot) => (slot.written.id && !slot.answer ? [[slot.written.id, slot]] : [])),
  );
  for (const answer of loose) {
    const slot = open.get(answer.message.tool_call_id);
    if (slot) slot.answer ??= answer;
  }
}

function mend(written: ToolCall, ids: Set<string>, place: string): ToolCall {
  let id = written.id;
  for (let copy = 1; !id || ids.has(id); copy++) id = copy === 1 ? `call_${place}` : `call_${place}_${copy}`;
  ids.add(id);
  const name = written.name || "unknown_tool";
  return id === written.id && name === written.name ? written : { ...written, id, name };
}

/** In the order of the state; those that are made up come last. */
function toAnswers(slots: readonly Slot[]): ToolMessage[] {
  const place = ({ answer }: Slot) => answer?.at ?? Number.MAX_SAFE_INTEGER;
  return slots.toSorted((left, right) => place(left) - place(right)).map(toAnswer);
}

function toAnswer({ answer, call: { id = "", name } }: Slot): ToolMessage {
  if (!answer) return new ToolMessage({ content: UNANSWERED, tool_call_id: id, name, status: "error" });
  const { message } = answer;
  if (message.tool_call_id === id) return message;
  const { content, status, artifact } = message;
  return new ToolMessage({ id: message.id, content, status, artifact, name: message.name, tool_call_id: id });
}

/** The message with its calls mended; the provider's raw form of them must not contradict that. */
function withCalls(message: AIMessage, slots: readonly Slot[]): AIMessage {
  const { tool_calls: raw, ...additional_kwargs } = message.additional_kwargs;
  const isRawRight = (raw?.length ?? slots.length) === slots.length;
  if (isRawRight && slots.every(({ written, call }) => written === call)) return message;
  const { id, name, content, response_metadata, usage_metadata } = message;
  const tool_calls = slots.map(({ call }) => call);
  return new AIMessage({
    id,
    name,
    content,
    response_metadata,
    usage_metadata,
    additional_kwargs,
    tool_calls,
  });
}

/** A turn that said and called nothing; some endpoints refuse it. */
function isEmpty({ content }: AIMessage): boolean {
  return content.length === 0;
}

function isSame(left: readonly BaseMessage[], right: readonly BaseMessage[]): boolean {
  return left.length === right.length && left.every((message, index) => message === right[index]);
}
