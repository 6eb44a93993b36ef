// A question to a model beside the conversation, such as a title or a summary: it may fail and must not matter.
import type { BaseMessage } from "@langchain/core/messages";

interface Askable {
  invoke(prompt: string, options: { signal: AbortSignal; tags: string[] }): Promise<BaseMessage>;
}

/** LangGraph keeps the tokens of a call with this tag out of the messages stream. */
const TAGS = ["langsmith:nostream"];

/** The model's answer, or an empty text when it has none to give before the signal aborts, whatever the reason. */
export async function askModel(model: Askable, prompt: string, signal: AbortSignal): Promise<string> {
  // A model that does not listen to the signal is left behind, so the wait ends with the signal in any case.
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", reject, { once: true });
  try {
    signal.throwIfAborted();
    const reply = await Promise.race([model.invoke(prompt, { signal, tags: TAGS }), aborted]);
    return reply.text.trim();
  } catch {
    return "";
  } finally {
    signal.removeEventListener("abort", reject);
  }
}

/** Aborts with the run or at the deadline, whichever comes first. */
export function withDeadline(deadline: AbortSignal, run: AbortSignal | undefined): AbortSignal {
  return run ? AbortSignal.any([deadline, run]) : deadline;
}
