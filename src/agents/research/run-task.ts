// Runs one task of the plan with its subagent and writes down what becomes of it: the caller that document 002 speaks
// of ("Real-time Updates During Execution"). Tasks run in parallel; each changes its own entry of the plan only.
import { isGraphBubbleUp, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { type Conversation, mergeLists, type PlanTask } from "#kit";
import { isAppError } from "../../errors.ts";
import { AnswerError } from "./ask.ts";
import { datasetsOf, tasksOf, toMaterial } from "./knowledge.ts";
import { LiteratureError } from "./literature/provider.ts";
import type { Dataset, Task } from "./research-state.ts";
import type { OnProgress } from "./run-aloud.ts";
import { TaskFailure, type TaskInput, type TaskResult } from "./task-result.ts";

export interface TaskAgent {
  run(input: TaskInput, config: LangGraphRunnableConfig, onProgress: OnProgress): Promise<TaskResult>;
}

interface Assignment {
  readonly task: Task;
  readonly question: string;
}

/** The node of a kind of task. A task that comes to nothing has failed, with its reason; the run goes on. */
export function createTaskNode(agent: TaskAgent, open: (config: LangGraphRunnableConfig) => Conversation) {
  return async ({ task, question }: Assignment, config: LangGraphRunnableConfig) => {
    const conversation = open(config);
    const { values } = await conversation.read();
    // What it has said already, if its worker died.
    let { reasoning } = tasksOf(values).find(({ id }) => id === task.id) ?? task;
    const onProgress: OnProgress = async (line) => {
      reasoning = mergeLists(reasoning, [line]);
      await changeTask(conversation, { ...task, reasoning, status: "running" });
    };
    await changeTask(conversation, { ...task, reasoning, status: "running" });
    const work = async () => {
      const datasets = chooseDatasets(task, datasetsOf(values));
      const before = toMaterial(values).tasks.filter(({ status }) => status === "completed");
      return agent.run({ task, question, datasets, before }, config, onProgress);
    };
    const { removed, ...done } = await conversation
      .step(task.id, work)
      .then(({ removed: taken, output, references, artifacts }) => ({
        ...task,
        reasoning,
        status: "completed" as const,
        output,
        references: [...references],
        artifacts: [...artifacts],
        removed: taken,
      }))
      .catch((error: unknown) => ({
        ...task,
        reasoning,
        status: "failed" as const,
        reason: toReason(error, config.signal),
        removed: [],
      }));
    await changeTask(conversation, done);
    return {
      tasks: [done],
      artifacts: done.artifacts,
      removed_citations: removed.map((one) => ({ where: task.id, ...one })),
    };
  };
}

/** Its entry of the plan, in the place where it stands; at the end when it is new. */
export function withTask(plan: readonly PlanTask[], task: Task): PlanTask[] {
  const isThere = plan.some(({ id }) => id === task.id);
  return isThere ? plan.map((other) => (other.id === task.id ? task : other)) : [...plan, task];
}

const changeTask = (conversation: Conversation, task: Task) =>
  conversation.change(({ plan = [] }) => ({ plan: withTask(plan, task) }));

/** @throws TaskFailure when there is nothing to work on */
function chooseDatasets({ type, datasets: named }: Task, datasets: readonly Dataset[]): Dataset[] {
  if (type === "LITERATURE") return [];
  const chosen = named.length === 0 ? datasets.filter(({ error }) => error === undefined) : [];
  for (const { filename } of named) {
    const dataset = datasets.find((one) => one.filename === filename);
    if (!dataset) throw new TaskFailure(`There is no dataset ${filename}.`);
    if (dataset.error !== undefined) throw new TaskFailure(`${filename} could not be read. ${dataset.error}`);
    chosen.push(dataset);
  }
  if (chosen.length === 0) throw new TaskFailure("There is no dataset that could be read.");
  return chosen;
}

/** @throws the error itself when it is the run's matter: an interrupt, an end, a lost lease, a fault of ours */
function toReason(error: unknown, signal: AbortSignal | undefined): string {
  if (isGraphBubbleUp(error) || signal?.aborted) throw error;
  const isOfTask = [TaskFailure, LiteratureError, AnswerError].some((kind) => error instanceof kind);
  if (error instanceof Error && (isOfTask || isAppError(error, "sandbox_unavailable"))) return error.message;
  throw error;
}
