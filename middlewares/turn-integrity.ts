// Lets no broken turn of the model pass for a good one: cut off, empty, unreadable arguments, a call written as
// text. Each gets one more model call with the fault named; then the run ends as an error that a person
// understands. The broken turn is not kept, and none of its tool calls is run, the readable ones included.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { createMiddleware, type ModelRequest, type WrapModelCallHandler } from "langchain";
import { faultOfTurn, type TurnFault, toWholeTurn } from "#kit";

/** Ends a run whose model gave no usable turn twice in a row. The message is for the user. */
class ModelTurnError extends Error {
  readonly kind: TurnFault["kind"];

  constructor(first: TurnFault, second: TurnFault) {
    super(
      first.reason === second.reason
        ? `Twice in a row the model's reply ${first.reason}.`
        : `The model's reply ${first.reason}, and the next one ${second.reason}.`,
    );
    this.name = "ModelTurnError";
    this.kind = second.kind;
  }
}

export function createTurnIntegrity() {
  return createMiddleware({
    name: "turn-integrity",
    wrapModelCall: async (request, handler) => {
      const first = await attempt(request, handler);
      if (!first.fault) return first.reply;
      const messages = [...request.messages, toNotice(first.fault)];
      const second = await attempt({ ...request, messages }, handler);
      if (second.fault) throw new ModelTurnError(first.fault, second.fault);
      return second.reply;
    },
  });
}

async function attempt(request: ModelRequest, handler: WrapModelCallHandler) {
  const reply = await handler(request);
  // A structured response was checked against its schema already.
  if (!AIMessage.isInstance(reply)) return { reply };
  const whole = toWholeTurn(reply, request.messages);
  const tools = request.tools.flatMap(({ name }) => (typeof name === "string" ? [name] : []));
  return { reply: whole, fault: faultOfTurn(whole, tools) };
}

function toNotice({ reason, advice }: TurnFault): HumanMessage {
  return new HumanMessage(`<notice>\nYour last reply could not be used: it ${reason}.\n${advice}\n</notice>`);
}
