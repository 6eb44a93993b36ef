// What goes wrong in research, and what becomes of it.
import { describe, expect, test } from "vitest";
import { lockedWorkbook } from "../../../test/helpers/office-files.ts";
import { rainCsv } from "../../../test/helpers/rain-data.ts";
import { createTestResearch } from "../../../test/helpers/test-research.ts";
import { LiteratureError } from "./literature/provider.ts";

const byId = <Element extends { readonly id?: string | undefined }>(list: readonly Element[] = []) =>
  Object.fromEntries(list.map((element) => [element.id, element]));

describe("what goes wrong", () => {
  test("with a file is its dataset's reason, and that of the task that needs it", async () => {
    const tasks = [
      { type: "ANALYSIS", objective: "Look", datasets: ["locked.xlsx"] },
      { type: "LITERATURE", objective: "Read", datasets: ["not-there.csv"] },
    ];
    const research = await createTestResearch({
      answers: { planning: (_, number) => ({ currentObjective: "Look", tasks: number === 1 ? tasks : [] }) },
    });
    await research.upload("locked.xlsx", lockedWorkbook());
    await research.upload("rain.csv", rainCsv(10));
    const state = await research.run("Why?");
    const reason = "It is protected by a password.";
    expect(byId(state.tasks ?? [])).toMatchObject({
      "ana-1": { status: "failed", reason: `locked.xlsx could not be read. ${reason}` },
      "lit-1": { status: "completed", datasets: [] },
    });
    expect((await research.conversation()).uploadedDatasets).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ filename: "locked.xlsx", error: reason }),
        expect.objectContaining({ filename: "rain.csv", path: "/mnt/user-data/uploads/rain.csv" }),
      ]),
    );
    expect(state.messages.at(-1)?.text).toContain(`locked.xlsx: ${reason}`);
  });

  test("with all providers is the task's reason, and the others go on", async () => {
    const research = await createTestResearch({
      search: async (query) => {
        if (query.includes("Reviews")) throw new LiteratureError("OpenAlex answered 503.");
        return [];
      },
    });
    const { tasks } = await research.run("Why does it rain?");
    expect(byId(tasks ?? [])).toMatchObject({
      "lit-1": { status: "failed", reason: "OpenAlex answered 503." },
      "lit-2": {
        status: "completed",
        output: expect.stringContaining("Nothing was found for: Measurements"),
      },
    });
  });

  test("with code is mended with what it said, and given up at the third time", async () => {
    const research = await createTestResearch({
      answers: {
        code: ({ objective }: { objective: string }, number) => ({
          language: "bash",
          code: objective.startsWith("Means") || number === 1 ? "echo broken >&2; exit 3" : "echo fine",
        }),
      },
    });
    await research.upload("rain.csv", rainCsv(10));
    const { tasks } = await research.run("Why?");
    expect(byId(tasks ?? [])).toMatchObject({
      "ana-1": { status: "completed", output: expect.stringContaining("Printed:\nfine") },
      "ana-2": {
        status: "failed",
        reason: "The code of the analysis failed 3 times; at last with exit code 3, saying: broken",
      },
    });
    const again = research.asked.filter(({ step }) => step === "code")[1];
    expect(again?.input).toMatchObject({
      failedRuns: [{ exitCode: 3, output: expect.stringContaining("broken") }],
    });
  });

  test("with the model's answer is mended once, and then said", async () => {
    const once = await createTestResearch({
      answers: { hypothesis: (_, number) => (number === 1 ? "I think that…" : { hypothesis: "It rains." }) },
    });
    await once.run("Why?");
    expect((await once.conversation()).currentHypothesis).toBe("It rains.");
    const never = await createTestResearch({ answers: { hypothesis: () => ({ idea: 1 }) } });
    await expect(never.run("Why?")).rejects.toThrow(
      /^The model gave no usable answer for the step "hypothesis": hypothesis: /,
    );
  });

  test("with the question is said before anything is done", async () => {
    const research = await createTestResearch();
    await expect(research.run(" ")).rejects.toThrow("The research has no question");
    expect(research.asked).toEqual([]);
  });
});

test("a claim cites only what a task has returned; the rest is taken out, listed and told", async () => {
  const research = await createTestResearch({
    answers: {
      literature: () => ({ output: "It rains [openalex:W1] and snows [openalex:W999]." }),
      hypothesis: () => ({
        hypothesis: "Rain [openalex:W1, arxiv:9999.1] follows heat (Smith et al., 2020).",
      }),
      discovery: () => ({
        discoveries: [
          { claim: "Held", evidence: [{ source: "[openalex:W1]" }, { source: "openalex:W404" }] },
          { claim: "Made up", evidence: [{ source: "my own knowledge" }] },
          { claim: "Bare", evidence: [] },
        ],
      }),
      reply: () => "It rains [arxiv:2011.1], see https://example.org/paper and https://doi.org/10.5555/1.",
    },
  });
  const state = await research.run("Why?");
  const values = await research.conversation();
  expect(values.currentHypothesis).toBe("Rain [openalex:W1] follows heat.");
  expect(values.discoveries).toEqual([
    { claim: "Held", evidence: [{ source: "openalex:W1", explanation: "" }] },
  ]);
  const text = state.messages.at(-1)?.text ?? "";
  expect(text).toContain("It rains [arxiv:2011.1], see and https://doi.org/10.5555/1.");
  expect(text).toContain("* openalex:W999: No task has returned it.");
  expect(new Set(state.removed_citations?.map(({ where, citation }) => `${where}: ${citation}`))).toEqual(
    new Set([
      "lit-1: openalex:W999",
      "lit-2: openalex:W999",
      "lit-3: openalex:W999",
      "lit-4: openalex:W999",
      "hypothesis: arxiv:9999.1",
      "hypothesis: (Smith et al., 2020)",
      "discovery: openalex:W404",
      "discovery: my own knowledge",
      "discovery: Made up",
      "discovery: Bare",
      "reply: https://example.org/paper",
    ]),
  );
});
