// What the demo model says when the research agent asks it: a pure function of the step and its input. It plans two
// iterations of parallel tasks, writes real code for real data, and cites what the tasks have returned. It knows nothing.
import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";

const column = z.object({ name: z.string(), type: z.string() });
const inputSchema = z.looseObject({
  question: z.string().default(""),
  objective: z.string().default(""),
  mode: z.string().default("initial"),
  datasets: z
    .array(
      z.looseObject({
        filename: z.string(),
        path: z.string().optional(),
        error: z.string().optional(),
        columns: z.array(column).optional(),
      }),
    )
    .default([]),
  tasks: z
    .array(
      z.looseObject({ id: z.string(), type: z.string(), status: z.string(), reason: z.string().optional() }),
    )
    .default([]),
  sources: z.array(z.looseObject({ id: z.string(), title: z.string() })).default([]),
  citable: z.array(z.string()).default([]),
  outputs: z.string().default(""),
  cite: z.string().default(""),
  printed: z.string().default(""),
});
type Input = z.output<typeof inputSchema>;

const SCRIPT: Readonly<Record<string, (input: Input) => object | string>> = {
  clarification: ({ question, datasets }) => ({
    refinedObjective: question,
    questions: ["Which period and which place matter to you?"],
    initialTasks: firstTasks({ question, datasets }).map(({ datasets: datasetFilenames, ...task }) => ({
      ...task,
      datasetFilenames,
    })),
  }),
  planning: (input) => (input.mode === "initial" ? firstPlan(input) : nextPlan(input)),
  queries: ({ objective }) => ({ queries: [toQuery(objective)] }),
  literature: ({ sources }) => ({
    output: sources
      .slice(0, 4)
      .map(({ id, title }) => `A publication of the title “${title}” bears on this [${id}].`)
      .join(" "),
  }),
  code: toCode,
  analysis: ({ cite, printed }) => ({
    output: `The figures were computed from the data: ${printed.trim().split("\n").length} lines [${cite}].`,
  }),
  hypothesis: ({ question, citable }) => ({
    hypothesis: `The data and the publications bear on “${excerpt(question)}” ${cites(citable, 3)}.`,
  }),
  reflection: (input) => ({
    currentObjective: `Look closer at “${excerpt(input.question)}”`,
    keyInsights: input.tasks
      .filter(({ status }) => status === "completed")
      .slice(-2)
      .map(({ id, type }) => `Task ${id} has a result${type === "ANALYSIS" ? ` [task:${id}]` : ""}.`),
    methodology: `${input.tasks.length} tasks: searches of publications, and code on the data.`,
    conversationTitle: excerpt(input.question, 60),
  }),
  discovery: ({ citable }) => {
    const [analysis] = idsOf(citable).filter((id) => id.startsWith("task:"));
    const [publication] = idsOf(citable).filter((id) => !id.startsWith("task:"));
    if (!analysis || !publication) return { discoveries: [] };
    return {
      discoveries: [
        {
          claim: "The data and a publication can be set side by side.",
          evidence: [{ source: analysis }, { source: publication }],
        },
      ],
    };
  },
  reply: toReplyText,
};

/** The demo model's answer, or undefined when the messages are no step of the research. */
export function demoResearch(messages: readonly BaseMessage[]): string | undefined {
  const match = /^<step>(\w+)<\/step>\s*<input>([\s\S]*)<\/input>$/.exec(messages.at(-1)?.text ?? "");
  const answer = SCRIPT[match?.[1] ?? ""];
  if (!match || !answer) return undefined;
  const given = JSON.parse(match[2] ?? "{}") as { material?: object };
  const said = answer(inputSchema.parse({ ...given.material, ...given }));
  return typeof said === "string" ? said : JSON.stringify(said);
}

const readable = (datasets: Input["datasets"]) =>
  datasets.filter(({ error, path, columns }) => error === undefined && path !== undefined && columns?.length);

function firstTasks({ question, datasets }: Pick<Input, "question" | "datasets">) {
  const about = excerpt(question, 80);
  const [data] = readable(datasets);
  const search = (what: string, level = 1) => ({
    type: "LITERATURE",
    level,
    objective: `${what}: ${about}`,
    datasets: [] as string[],
  });
  if (!data) return [search("Reviews"), search("Measurements")];
  const { filename } = data;
  const analyse = (objective: string, level = 1) => ({
    type: "ANALYSIS",
    level,
    objective,
    datasets: [filename],
  });
  return [
    search("Publications"),
    analyse(`Range and mean of each numeric column of ${filename}`),
    search("Methods", 2),
    analyse(`Means by group in ${filename}`, 2),
  ];
}

const firstPlan = (input: Input) => ({
  currentObjective: `Find out what is known about “${excerpt(input.question)}”`,
  tasks: firstTasks(input),
});

/** A second iteration, and then none. */
function nextPlan({ question, datasets, tasks }: Input) {
  const currentObjective = `Look closer at “${excerpt(question)}”`;
  const [data] = readable(datasets);
  if (tasks.length > (data ? 4 : 2)) return { currentObjective, tasks: [] };
  const search = { type: "LITERATURE", level: 1, objective: `Contradictions: ${excerpt(question, 80)}` };
  const other = data
    ? { type: "ANALYSIS", level: 1, objective: `Rows of ${data.filename}`, datasets: [data.filename] }
    : { ...search, objective: `Recent work: ${excerpt(question, 80)}` };
  return { currentObjective, tasks: [search, other] };
}

/** awk, which every sandbox has. Good for plain CSV, as the demo's data is. */
function toCode({ datasets, objective, outputs }: Input) {
  const [data] = datasets;
  const path = `'${(data?.path ?? "").replaceAll("'", "'\\''")}'`;
  const columns = data?.columns ?? [];
  const numbers = columns.flatMap(({ type }, index) => (type === "number" ? [index + 1] : []));
  const group = columns.findIndex(({ type }) => type === "text") + 1;
  const [first = 1] = numbers;
  const table = `${outputs}/result.csv`;
  const awk = (program: string) => `awk -F, '${program}' ${path} | tee '${table}'`;
  const code = objective.startsWith("Range")
    ? awk(
        `NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i; next } { for (i = 1; i <= NF; i++) if ($i ~ /^-?[0-9.]+$/) { if (!(i in n) || $i + 0 < low[i]) low[i] = $i + 0; if (!(i in n) || $i + 0 > high[i]) high[i] = $i + 0; sum[i] += $i; n[i]++ } } END { print "column,low,high,mean"; for (i = 1; i <= NF; i++) if (n[i]) printf "%s,%s,%s,%.3f\\n", name[i], low[i], high[i], sum[i] / n[i] }`,
      )
    : group > 0 && objective.startsWith("Means")
      ? awk(
          `NR > 1 { sum[$${group}] += $${first}; n[$${group}]++ } END { print "group,mean,rows"; for (g in n) printf "%s,%.3f,%d\\n", g, sum[g] / n[g], n[g] }`,
        )
      : awk(`END { print "rows"; print NR - 1 }`);
  return { language: "bash", code };
}

function toReplyText({ question, tasks, datasets, citable }: Input): string {
  const failed = [
    ...tasks.filter(({ status }) => status === "failed").map(({ id, reason }) => `${id}: ${reason}`),
    ...datasets
      .filter(({ error }) => error !== undefined)
      .map(({ filename, error }) => `${filename}: ${error}`),
  ];
  const completed = tasks.filter(({ status }) => status === "completed");
  return [
    `This is Heddle's demo model. You asked: “${excerpt(question)}”.`,
    completed.length === 0
      ? "No task is done."
      : `${completed.length} tasks are done: ${completed.map(({ id }) => id).join(", ")} ${cites(citable, 4)}.`,
    ...failed.map((line) => `It failed: ${line}`),
    "I only follow a script: set OPENAI_API_KEY or OPENAI_BASE_URL for a model that thinks.",
  ].join("\n\n");
}

const idsOf = (citable: readonly string[]) => citable.map((line) => line.slice(0, line.indexOf(": ")));

const cites = (citable: readonly string[], number: number) =>
  idsOf(citable)
    .slice(0, number)
    .map((id) => `[${id}]`)
    .join(" ");

const toQuery = (objective: string) =>
  (objective.match(/[\p{L}\p{N}]{3,}/gu) ?? ["research"]).slice(0, 6).join(" ");

function excerpt(text: string, chars = 120): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > chars ? `${line.slice(0, chars).toWellFormed()}…` : line;
}
