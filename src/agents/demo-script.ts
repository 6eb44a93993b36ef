// What the demo model does next: a pure function of the conversation and the tools on offer. Each turn takes the
// same steps, one tool call each; a step whose tool is missing is left out, one that failed is not repeated.
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { type UploadedFile, uploadsShownIn, userText } from "#kit";

export interface DemoStep {
  readonly text: string;
  readonly call?: {
    readonly id: string;
    readonly name: string;
    readonly args: Readonly<Record<string, unknown>>;
  };
}

interface Turn {
  /** Counted from 1. */
  readonly number: number;
  readonly question: string;
  readonly uploads: readonly UploadedFile[];
  /** The user's former questions. */
  readonly earlier: readonly string[];
  readonly calls: number;
  readonly results: readonly ToolMessage[];
}

export function nextStep(messages: readonly BaseMessage[], tools: readonly string[]): DemoStep {
  const turn = readTurn(messages);
  // Asked without a conversation, for a title or a summary.
  if (!turn) return { text: "A conversation with the demo model" };
  const steps = plan(turn).filter(({ call }) => call && tools.includes(call.name));
  return steps[turn.calls] ?? { text: answer(turn, tools) };
}

function readTurn(messages: readonly BaseMessage[]): Turn | undefined {
  // What middlewares add to a request has no id; what the user has said has one.
  const questions = messages.filter(
    (message) => HumanMessage.isInstance(message) && message.id !== undefined,
  );
  const question = questions.at(-1);
  if (!question) return undefined;
  const since = messages.slice(messages.indexOf(question) + 1);
  return {
    number: questions.length,
    question: userText(question).trim(),
    uploads: uploadsShownIn(question),
    earlier: questions.slice(0, -1).map((message) => userText(message).trim()),
    calls: since.flatMap((message) => (AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []))
      .length,
    results: since.filter((message) => ToolMessage.isInstance(message)),
  };
}

function plan(turn: Turn): DemoStep[] {
  const { number, uploads } = turn;
  const report = reportPath(number);
  const [upload] = uploads;
  const titles = [...(upload ? [`Look at ${upload.filename}`] : []), "Write a report", "Present the report"];
  const todos = (done: number) => ({
    todos: titles.map((title, index) => ({
      id: `todo-${index + 1}`,
      title,
      status: index < done ? "completed" : index === done ? "in_progress" : "pending",
    })),
  });
  const steps: [text: string, name: string, args: Record<string, unknown>][] = [
    ["I make a plan first.", "write_todos", todos(0)],
    ...(upload ? [look(upload)] : []),
    ["I write down what I have.", "write_file", { path: report, content: write(turn) }],
    ["Here is the report.", "present_files", { file_paths: [report] }],
    ["All is done.", "write_todos", todos(titles.length)],
  ];
  return steps.map(([text, name, args], index) => ({
    text,
    call: { id: `call_demo_${number}_${index}`, name, args },
  }));
}

function look({ filename, path }: UploadedFile): [string, string, Record<string, unknown>] {
  const quoted = `'${path.replaceAll("'", "'\\''")}'`;
  return [`I look at ${filename}.`, "bash", { command: `wc -c < ${quoted} && head -c 200 ${quoted}` }];
}

function reportPath(number: number): string {
  return `/mnt/user-data/outputs/demo-${number}.md`;
}

function write({ number, question, uploads }: Turn): string {
  const files = uploads.map(({ filename, size }) => `* ${filename}, ${size} bytes`);
  return [
    `# Turn ${number}`,
    "",
    "You wrote:",
    "",
    ...(question || "(nothing)").split("\n").map((line) => `> ${line}`),
    "",
    ...(files.length > 0 ? ["New files:", "", ...files, ""] : []),
    "Written by Heddle's demo model.",
    "",
  ].join("\n");
}

function answer({ number, question, earlier, uploads, results }: Turn, tools: readonly string[]): string {
  const failed = results.filter(({ status }) => status === "error");
  const [first] = earlier;
  const wrote = tools.includes("write_file") && failed.length === 0;
  const shown = tools.includes("present_files") ? " and put it on show" : "";
  return [
    `This is Heddle's demo model, turn ${number}. You said: “${excerpt(question)}”.`,
    ...(first === undefined ? [] : [`You began with: “${excerpt(first)}”.`]),
    ...(uploads.length === 0 ? [] : [`New files: ${uploads.map(({ filename }) => filename).join(", ")}.`]),
    ...(wrote ? [`I wrote ${reportPath(number)}${shown}.`] : []),
    ...failed.map((message) => `A step failed: ${excerpt(message.text)}`),
    "I only follow a script: set OPENAI_API_KEY or OPENAI_BASE_URL for a model that thinks.",
  ].join("\n\n");
}

function excerpt(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > 200 ? `${line.slice(0, 200).toWellFormed()}…` : line;
}
