import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { rainCsv } from "../../../test/helpers/rain-data.ts";
import { createTestResearch } from "../../../test/helpers/test-research.ts";
import { createModels } from "../models.ts";
import { demoResearch } from "./demo-research.ts";

const byId = <Element extends { readonly id?: string | undefined }>(list: readonly Element[] = []) =>
  Object.fromEntries(list.map((element) => [element.id, element]));

describe("research on a table and publications", () => {
  test("plans, works in parallel by level, concludes, goes on once more, and replies", async () => {
    const research = await createTestResearch();
    await research.upload("rain.csv", rainCsv());
    const state = await research.run("How does rain follow temperature?");
    expect(state.tasks?.map(({ id, level, iteration, status }) => [id, level, iteration, status])).toEqual([
      ["lit-1", 1, 1, "completed"],
      ["ana-1", 1, 1, "completed"],
      ["lit-2", 2, 1, "completed"],
      ["ana-2", 2, 1, "completed"],
      ["lit-3", 3, 2, "completed"],
      ["ana-3", 3, 2, "completed"],
    ]);
    const values = await research.conversation();
    expect(values).toMatchObject({
      objective: "How does rain follow temperature?",
      researchMode: "fully-autonomous",
      currentLevel: 3,
      conversationTitle: "How does rain follow temperature?",
      suggestedNextSteps: [],
      uploadedDatasets: [{ filename: "rain.csv", description: expect.stringContaining("6,000 rows") }],
      discoveries: [{ evidence: [{ source: "task:ana-1" }, { source: "openalex:W1" }] }],
    });
    expect(values.plan).toEqual(state.tasks);
    expect(values.keyInsights).toEqual([
      "Task lit-2 has a result.",
      "Task ana-2 has a result [task:ana-2].",
      "Task lit-3 has a result.",
      "Task ana-3 has a result [task:ana-3].",
    ]);
    expect(values.currentHypothesis).toContain("[openalex:W1]");
    const reply = state.messages.at(-1)?.text;
    expect(reply).toContain("6 tasks are done");
    expect(reply).toContain(
      "**Sources**\n\n* [openalex:W1] Rain (Ada Marsh, 2019) https://doi.org/10.5555/1",
    );
    expect(state.removed_citations).toEqual([]);
  });

  test("tells of each task what it does, while it does it", async () => {
    const reasoning = ["Searches for Publications Why does rain.", "Found 2 publications."];
    const seen: unknown[] = [];
    const research: Awaited<ReturnType<typeof createTestResearch>> = await createTestResearch({
      answers: {
        literature: async (_input, number) => {
          if (number > 1) return { output: "Nothing more." };
          const shown = async () => (await research.conversation()).plan?.find(({ id }) => id === "lit-1");
          await expect.poll(shown).toMatchObject({ status: "running", reasoning });
          seen.push("lit-1");
          return { output: "It rains [openalex:W1]." };
        },
      },
    });
    await research.upload("rain.csv", rainCsv(10));
    const { tasks } = await research.run("Why does it rain?");
    expect(seen.length).toBeGreaterThan(0);
    const { "lit-1": literature, "ana-1": analysis } = byId(tasks ?? []);
    expect(literature).toMatchObject({ status: "completed", reasoning });
    expect(analysis?.reasoning).toEqual(["Wrote 1 lines of bash.", "Ran the code: exit code 0."]);
  });

  test("computes on the data, and keeps the files that the code has written", async () => {
    const research = await createTestResearch();
    await research.upload("rain.csv", rainCsv());
    const { tasks, artifacts } = await research.run("How does rain follow temperature?");
    const { "ana-2": groups, "ana-3": rows } = byId(tasks ?? []);
    expect(groups?.output).toMatch(/Bergen,11\.\d{3},2000\n/);
    expect(rows?.output).toMatch(/rows\n6000$/);
    expect(artifacts).toEqual(
      ["ana-1", "ana-2", "ana-3"].map((id) => `/mnt/user-data/outputs/${id}/result.csv`),
    );
    const table = await research.files.read(research.threadId, "/mnt/user-data/outputs/ana-1/result.csv");
    expect(table.toString()).toMatch(/^column,low,high,mean\ntemperature,3,/);
  });

  test("shows what its subagents do as nested calls", async () => {
    const research = await createTestResearch();
    const stream = await research.graph.stream({ messages: [{ role: "user", content: "Why?" }] } as never, {
      ...research.config(),
      streamMode: "updates",
      subgraphs: true,
    });
    const seen = new Set<string>();
    for await (const [namespace, update] of stream as AsyncIterable<[string[], object]>) {
      const path = namespace.map((part) => part.split(":")[0]);
      for (const node of Object.keys(update)) seen.add([...path, node].join(" > "));
    }
    expect([...seen]).toEqual(
      expect.arrayContaining([
        "upload_files > find",
        "make_plan > think",
        "literature > ask_questions",
        "literature > search",
        "literature > summarise",
        "literature",
        "reflect > check",
        "write_reply > write",
      ]),
    );
  });

  test("starts a second message with what the first one has found", async () => {
    const research = await createTestResearch();
    await research.run("Why does it rain?");
    const before = (await research.conversation()).plan?.length ?? 0;
    await research.upload("rain.csv", rainCsv(10));
    const { tasks, iteration } = await research.run("And in Bonn?");
    expect(tasks?.[0]?.id).toBe(`lit-${before + 1}`);
    expect(iteration).toBe(1);
    const { plan, objective, keyInsights } = await research.conversation();
    expect(objective).toBe("Why does it rain?");
    expect(plan?.length).toBe(before + (tasks?.length ?? 0));
    expect(keyInsights?.length).toBe(new Set(keyInsights).size);
  });
});

describe("the replies of a thread", () => {
  const said = ({ messages }: { messages: readonly BaseMessage[] }) => messages.map(({ type }) => type);
  const sameId = { id: "same", content: "It rains." };

  test.each([
    ["gives no ids", createModels([], (messages) => ({ text: demoResearch(messages) ?? "" }))],
    ["gives the same id always", undefined],
  ])("all stay, also when the model %s", async (_, models) => {
    const answers = { reply: () => new AIMessage(sameId) };
    const research = await createTestResearch(models ? { models } : { answers });
    const first = await research.run("Why does it rain?");
    const second = await research.run("And in Bonn?");
    expect(said(second)).toEqual(["human", "ai", "human", "ai"]);
    expect(second.messages[1]).toEqual(first.messages[1]);
    expect(new Set(second.messages.map(({ id }) => id)).size).toBe(4);
  });
});

describe("research modes", () => {
  test("steering replies after each iteration, and takes its suggestions up with the next message", async () => {
    const research = await createTestResearch();
    const steering = { research_mode: "steering", max_iterations: 9 };
    await research.run("Why does it rain?", steering);
    const first = await research.run(new Command({ resume: "everywhere" }), steering);
    expect(first.iteration).toBe(1);
    expect((await research.conversation()).suggestedNextSteps).toHaveLength(2);
    await research.run("Go on.", steering);
    const planned = research.asked.findLast(
      ({ step, input }) => step === "planning" && (input as { mode: string }).mode === "initial",
    );
    expect(planned?.input).toMatchObject({
      suggestedNextSteps: [{ type: "LITERATURE" }, { type: "LITERATURE" }],
    });
  });

  test("bound the iterations by what the run says", async () => {
    const tasks = [{ type: "LITERATURE", objective: "More" }];
    const research = await createTestResearch({
      answers: { planning: () => ({ currentObjective: "More", tasks }) },
    });
    expect((await research.run("Why?", { max_iterations: 4 })).iteration).toBe(4);
    expect((await research.run("Why?")).iteration).toBe(5);
  });

  test.each([
    [{ research_mode: "wild" }, /research_mode[\s\S]*semi-autonomous/],
    [{ max_iterations: 0 }, /max_iterations[\s\S]*>=1/],
  ])("that there are none of are refused: %j", async (configurable, message) => {
    const research = await createTestResearch();
    await expect(research.run("Why?", configurable)).rejects.toThrow(message);
  });
});

describe("clarification before the start", () => {
  const SEMI = { research_mode: "semi-autonomous" };
  test("waits for the user, and what he answers is in the plan's material", async () => {
    const research = await createTestResearch();
    const { __interrupt__ } = await research.run("Why does it rain?", SEMI);
    expect(__interrupt__?.[0]?.value).toEqual({
      type: "clarification",
      objective: "Why does it rain?",
      questions: ["Which period and which place matter to you?"],
      initial_tasks: expect.arrayContaining([
        expect.objectContaining({ type: "LITERATURE", datasetFilenames: [] }),
      ]),
    });
    expect(research.steps()).toEqual(["clarification"]);
    await research.run(new Command({ resume: { answers: ["Bergen, always"] } }), SEMI);
    const { clarificationContext } = await research.conversation();
    expect(clarificationContext).toMatchObject({
      refinedObjective: "Why does it rain?",
      questionsAndAnswers: [
        { question: "Which period and which place matter to you?", answer: "Bergen, always" },
      ],
    });
    expect(research.steps().filter((step) => step === "clarification")).toHaveLength(1);
    expect(JSON.stringify(research.asked.find(({ step }) => step === "planning"))).toContain(
      "Bergen, always",
    );
  });

  test("is left out when nothing is unclear", async () => {
    const clear = { refinedObjective: "Why?", questions: [] };
    const research = await createTestResearch({ answers: { clarification: () => clear } });
    expect((await research.run("Why?", SEMI)).messages.at(-1)?.type).toBe("ai");
  });
});
