// The team on a scripted model and a checkpointer in memory: who speaks when, what each is told, and how it ends.
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "#kit";
import { ScriptedModel } from "../../../test/helpers/scripted-model.ts";
import { createModels, type Models } from "../models.ts";
import { createTeam } from "./create-team.ts";
import { readTeamSettings } from "./settings.ts";
import type { OrchestratorState, ParticipantState } from "./team-state.ts";

const TEAM = [
  { name: "ann", description: "Looks things up." },
  { name: "bob", description: "Counts." },
  { name: "eve", description: "Writes." },
];
const PLAN = JSON.stringify({ facts: ["given"], plan: ["ann looks", "bob counts"] });
const next = (next_speaker: string, more: object = {}) =>
  JSON.stringify({
    is_request_satisfied: false,
    is_in_loop: false,
    is_progress_being_made: true,
    next_speaker,
    instruction_or_question: `Go, ${next_speaker}.`,
    ...more,
  });
const DONE = next("ann", { is_request_satisfied: true });

interface Values {
  messages: { text: string; name?: string }[];
  orchestrator_state: OrchestratorState;
  ann_state: ParticipantState | null;
  bob_state: ParticipantState | null;
  __interrupt__?: { value: Record<string, unknown> }[];
}

const shout = defineTool({
  name: "bash",
  description: "Says it louder.",
  schema: z.object({ text: z.string() }),
  run: async ({ text }) => text.toUpperCase(),
});

function open(script: ConstructorParameters<typeof ScriptedModel>[0] | undefined, settings: object = {}) {
  const model = new ScriptedModel(script ?? []);
  const real = createModels([]);
  const models: Models = script
    ? { ...real, isDemo: false, get: () => ({ ...real.default, chat: model }) }
    : real;
  const graph = createTeam({ models, tools: [shout] }, readTeamSettings({ participants: TEAM, ...settings }));
  graph.checkpointer = new MemorySaver();
  const config = { configurable: { thread_id: "t" } };
  const run = async (input: unknown) => (await graph.invoke(input as never, config)) as unknown as Values;
  return {
    model,
    graph,
    ask: (text: string) => run({ messages: [new HumanMessage(text)] }),
    again: () => run(null),
    answer: (resume: unknown) => run(new Command({ resume })),
  };
}

const saidOf = ({ messages }: Values) => messages.map(({ name, text }) => `${name ?? "user"}: ${text}`);

describe("a team", () => {
  test("plans, asks one after the other, and answers", async () => {
    const { ask, model } = open([PLAN, next("ann"), "It is 3.", next("bob"), "3 × 2 = 6.", DONE, "Six."]);
    const values = await ask("How many?");
    expect(saidOf(values)).toEqual([
      "user: How many?",
      "ann: It is 3.",
      "bob: 3 × 2 = 6.",
      "orchestrator: Six.",
    ]);
    expect(values.orchestrator_state).toMatchObject({
      phase: "done",
      task: "How many?",
      task_ledger: { facts: ["given"], plan: ["ann looks", "bob counts"] },
      round_count: 2,
      stall_count: 0,
    });
    // Each is told what the others have said since his last turn, and keeps a history of his own.
    expect(values.bob_state?.chat_history.map(({ text }) => text)).toEqual([
      "[ann] It is 3.\n\n[orchestrator] Go, bob.",
      "3 × 2 = 6.",
    ]);
    expect(values.ann_state?.chat_history).toHaveLength(2);
    expect(model.requests).toHaveLength(7);
  });

  test("goes on with the histories of its members when the user asks for more", async () => {
    const { ask } = open([PLAN, next("ann"), "One.", DONE, "A.", PLAN, next("ann"), "Two.", DONE, "B."]);
    await ask("First");
    const values = await ask("Second");
    expect(values.ann_state?.chat_history.map(({ text }) => text)).toEqual([
      "Go, ann.",
      "One.",
      "Go, ann.",
      "Two.",
    ]);
    expect(values.orchestrator_state).toMatchObject({ task: "Second", round_count: 1 });
  });

  test("stops at its rounds, and says so", async () => {
    const { ask, model } = open([PLAN, next("ann"), "1", next("bob"), "2", "As far as we came."], {
      max_rounds: 2,
    });
    const values = await ask("Never done");
    expect(values.orchestrator_state).toMatchObject({ round_count: 2, reason: "it has had its 2 rounds" });
    expect(model.requests.at(-1)?.messages.at(-1)?.text).toContain("The team had to stop");
  });

  test("makes another plan when it does not get on, and ends when no plan helps", async () => {
    const stuck = next("ann", { is_progress_being_made: false });
    const { ask, model } = open([PLAN, stuck, "Hm.", stuck, PLAN, stuck, "Hm.", stuck, "We could not."], {
      max_stalls: 1,
      max_replans: 1,
    });
    const values = await ask("Impossible");
    expect(values.orchestrator_state).toMatchObject({ replan_count: 1, round_count: 2 });
    expect(model.requests[4]?.messages.at(-1)?.text).toContain("because: there was no progress");
    expect(saidOf(values).at(-1)).toBe("orchestrator: We could not.");
  });

  test("asks everybody in turn when its model cannot lead", async () => {
    const script = ["What plan?", "No.", "Who?", "I.", "Ann here.", "Hm", "Hm", "Bob here.", DONE, "Done."];
    const values = await open(script).ask("Go");
    expect(saidOf(values).slice(1)).toEqual(["ann: Ann here.", "bob: Bob here.", "orchestrator: Done."]);
    expect(values.orchestrator_state.stall_count).toBe(2);
  });

  test("gives a member the tools he is to have, and keeps what he did with them in his history", async () => {
    const participants = [{ ...TEAM[0], tools: ["bash"] }, TEAM[1]];
    const call = { tool_calls: [{ name: "bash", args: { text: "three" }, id: "call-1" }] };
    const script = [
      PLAN,
      next("ann"),
      call,
      "It is THREE.",
      next("ann"),
      "Still.",
      next("bob"),
      "6.",
      DONE,
      "Six.",
    ];
    const { ask, model } = open(script, { participants });
    const values = await ask("How many?");
    expect(saidOf(values)).toEqual([
      "user: How many?",
      "ann: It is THREE.",
      "ann: Still.",
      "bob: 6.",
      "orchestrator: Six.",
    ]);
    expect(values.ann_state?.chat_history.slice(1, 4)).toMatchObject([
      { role: "assistant", tool_calls: [{ id: "call-1", name: "bash", args: { text: "three" } }] },
      { role: "tool", author_name: "bash", text: "THREE", tool_call_id: "call-1" },
      { role: "assistant", author_name: "ann", text: "It is THREE." },
    ]);
    // In his next turn he is told of all of it, the others of what he has said.
    expect(model.requests[5]?.messages.map(({ type }) => type)).toEqual([
      ...["system", "human", "ai", "tool", "ai", "human"],
    ]);
    expect(model.requests.map(({ tools }) => tools.length)).toEqual([0, 0, 1, 1, 0, 1, 0, 0, 0, 0]);
    expect(values.orchestrator_state.chat_history.map(({ role }) => role)).not.toContain("tool");
  });

  test("goes on when a tool fails, and refuses a tool that there is not", async () => {
    const participants = [{ ...TEAM[0], tools: ["bash"] }];
    const call = { tool_calls: [{ name: "bash", args: { text: 3 } }] };
    const values = await open([PLAN, next("ann"), call, "No.", DONE, "None."], { participants }).ask("Go");
    expect(values.ann_state?.chat_history[2]).toMatchObject({
      role: "tool",
      text: expect.stringContaining("The call of bash failed"),
    });
    expect(() => readTeamSettings({ participants: [{ ...TEAM[0], tools: ["rm"] }] })).toThrow(
      /participants\.0\.tools\.0.*"bash"\|"ls"/,
    );
  });

  test("ends the turn of a member who calls without end, and goes on", async () => {
    const participants = [{ ...TEAM[0], tools: ["bash"] }];
    const call = { tool_calls: [{ name: "bash", args: { text: "again" } }] };
    const script = [PLAN, next("ann"), ...Array.from({ length: 25 }, () => call), DONE, "Nothing."];
    const values = await open(script, { participants }).ask("Go");
    expect(saidOf(values).at(-1)).toBe("orchestrator: Nothing.");
    expect(values.ann_state?.chat_history.at(-1)?.text).toMatch(/limit/);
  });

  test("goes on after the last tool when a member's turn is broken off", async () => {
    const participants = [{ ...TEAM[0], tools: ["bash"] }];
    const call = { tool_calls: [{ name: "bash", args: { text: "three" } }] };
    const script = [PLAN, next("ann"), call, new Error("The line is dead."), "It is THREE.", DONE, "Three."];
    const { ask, again, model } = open(script, { participants });
    await expect(ask("How many?")).rejects.toThrow("The line is dead.");
    const values = await again();
    expect(saidOf(values).slice(1)).toEqual(["ann: It is THREE.", "orchestrator: Three."]);
    expect(model.requests[4]?.messages.map(({ type }) => type)).toEqual(["system", "human", "ai", "tool"]);
  });

  test("streams what is said under the ids under which it stays", async () => {
    const { graph } = open([PLAN, next("ann"), "It is 3.", DONE, "Three."]);
    const ids = new Set<string | undefined>();
    let last: BaseMessage[] = [];
    const stream = await graph.stream({ messages: [new HumanMessage("How many?")] } as never, {
      configurable: { thread_id: "t" },
      streamMode: ["messages", "values"],
    });
    for await (const [mode, chunk] of stream as AsyncIterable<[string, never]>) {
      if (mode === "messages") ids.add((chunk as [BaseMessage])[0].id);
      else last = (chunk as { messages: BaseMessage[] }).messages;
    }
    expect([...ids]).toEqual(last.slice(1).map(({ id }) => id));
  });

  test("keeps all that is said, also when its endpoint gives every answer the same id", async () => {
    const same = (content: string) => ({ message: new AIMessage({ id: "same", content }) });
    const values = await open([PLAN, next("ann"), same("1"), next("bob"), same("2"), DONE, same("3")]).ask(
      "Go",
    );
    expect(saidOf(values)).toEqual(["user: Go", "ann: 1", "bob: 2", "orchestrator: 3"]);
  });

  test("works without a model: everybody speaks once", async () => {
    const values = await open(undefined).ask("Plan a picnic");
    expect(values.messages.map(({ name }) => name)).toEqual([undefined, "ann", "bob", "eve", "orchestrator"]);
    expect(saidOf(values).at(-1)).toContain("3 turns, by ann, bob, eve.");
  });
});

describe("the review of a plan", () => {
  const review = (script: readonly string[]) => open(script, { plan_review: true });
  const ROUND = [next("ann"), "One.", DONE, "A."];

  test("shows the plan, and nobody works before a person has said yes", async () => {
    const { ask, answer, model } = review([PLAN, ...ROUND]);
    const asked = await ask("Go");
    expect(asked.__interrupt__?.[0]?.value).toEqual({
      type: "plan_review",
      task: "Go",
      facts: ["given"],
      plan: ["ann looks", "bob counts"],
      replan_count: 0,
    });
    expect(model.requests).toHaveLength(1);
    const values = await answer("Yes");
    expect(saidOf(values).at(-1)).toBe("orchestrator: A.");
    expect(values.orchestrator_state.plan_reviews).toEqual([{ decision: "approve", comments: "" }]);
  });

  test("with words gives another plan, which is reviewed as well", async () => {
    const { ask, answer, model } = review([PLAN, PLAN, ...ROUND]);
    await ask("Go");
    const again = await answer({ decision: "revise", comments: "Without bob." });
    expect(again.__interrupt__).toHaveLength(1);
    expect(model.requests[1]?.messages.at(-1)?.text).toContain("because: Without bob.");
    expect(saidOf(await answer({ decision: "approve" })).at(-1)).toBe("orchestrator: A.");
  });

  test("says of all plans so far what was wrong with them", async () => {
    const { ask, answer, model } = review([PLAN, PLAN, PLAN, ...ROUND]);
    await ask("Go");
    await answer("Without bob.");
    await answer({ decision: "revise", comments: "And cheaper." });
    const question = model.requests[2]?.messages.at(-1)?.text;
    expect(question).toContain("because: And cheaper.");
    expect(question).toContain("- Without bob.\n- And cheaper.");
  });

  test.each([
    [{ decision: "approved" }, /^decision: .*"approve"\|"revise"/],
    [{ plan: "only ann" }, /^plan: .*expected array/],
    [{ plan: [] }, /^plan: /],
    [{ plan: ["ann", 5] }, /^plan\.1: /],
    [{ comments: 5, decision: "revise" }, /^comments: /],
    [{ desicion: "approve" }, /decision or plan/],
    [{}, /decision or plan/],
    [5, /expected object/],
    [["yes"], /expected object/],
  ])("that is no answer, %j, asks again and says why", async (wrong, problem) => {
    const { ask, answer, model } = review([PLAN, ...ROUND]);
    const first = await ask("Go");
    const again = await answer(wrong);
    expect(again.__interrupt__).toMatchObject([
      {
        value: {
          ...(first.__interrupt__?.[0]?.value as object),
          problem: expect.stringMatching(problem) as unknown,
        },
      },
    ]);
    expect(model.requests).toHaveLength(1);
    const values = await answer("yes");
    expect(values.orchestrator_state.plan_reviews).toEqual([{ decision: "approve", comments: "" }]);
    expect(saidOf(values).at(-1)).toBe("orchestrator: A.");
  });

  test("may put another plan in its place", async () => {
    const { ask, answer, model } = review([PLAN, ...ROUND]);
    await ask("Go");
    const values = await answer({ plan: ["only ann"] });
    expect(values.orchestrator_state.task_ledger).toEqual({ facts: ["given"], plan: ["only ann"] });
    expect(model.requests[1]?.messages.at(-1)?.text).toContain("- only ann");
  });
});
