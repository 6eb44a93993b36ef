// What must hold for any checkpointer when a thread forks: a fork shows its own branch, the old branch stays as it was.
import { Annotation, Overwrite, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";

type Logged = readonly string[];
type Config = { configurable: Record<string, unknown> };

const State = Annotation.Root({
  ask: Annotation<string>,
  reply: Annotation<string>,
  log: Annotation<Logged>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});

const Notes = Annotation.Root({
  ask: Annotation<string>,
  reply: Annotation<string>,
  notes: Annotation<Logged>({ reducer: (before, more) => [...before, ...more], default: () => [] }),
});

/** Answers with the number of its notes: that tells which of its own checkpoints it has seen. */
const inner = new StateGraph(Notes)
  .addNode("note", ({ ask, notes }) => ({ notes: [ask], reply: `${ask}#${notes.length + 1}` }))
  .addEdge("__start__", "note")
  .addEdge("note", "__end__");

const answerInPlace = ({ ask }: { ask: string }) => ({ reply: `${ask}#` });

/**
 * One turn adds one line to the log; `turn` says which, for the n-th run of the thread. What a subgraph remembers from
 * run to run is the thread's, not the branch's: LangGraph gives it the newest of its checkpoints.
 */
const GRAPHS = [
  { name: "a plain graph", answer: answerInPlace, turn: (ask: string) => `${ask}#` },
  { name: "a subgraph", answer: inner.compile(), turn: (ask: string) => `${ask}#1` },
  {
    name: "a subgraph with a memory of its own",
    answer: inner.compile({ checkpointer: true }),
    turn: (ask: string, n: number) => `${ask}#${n}`,
  },
];

export function forkSuite(createSaver: () => BaseCheckpointSaver): void {
  describe.each(GRAPHS)("$name", ({ answer, turn }) => {
    describe.each(["sync", "async", "exit"] as const)("with durability %s", (durability) => {
      const start = async () => {
        const graph = new StateGraph(State)
          .addNode("answer", answer as typeof answerInPlace)
          .addNode("collect", ({ reply }) => ({ log: [reply] }))
          .addEdge("__start__", "answer")
          .addEdge("answer", "collect")
          .addEdge("collect", "__end__")
          .compile({ checkpointer: createSaver() });
        const thread: Config = { configurable: { thread_id: crypto.randomUUID() } };
        const run = async (ask: string, from: Config = thread) => {
          await graph.invoke({ ask }, { ...from, durability });
          return (await graph.getState(thread)).config as Config;
        };
        await run("a1");
        const second = await run("a2");
        const third = await run("a3");

        /** The logs from the first checkpoint of the branch to `head`, each once. */
        const branch = async (head: Config) => {
          const logs: Logged[] = [];
          for (let at: Config | undefined = head; at; ) {
            const { values, parentConfig } = await graph.getState(at);
            const { log = [] } = values as { log?: Logged };
            if (log.length > 0 && String(log) !== String(logs.at(-1))) logs.push(log);
            at = parentConfig as Config | undefined;
          }
          return logs.reverse();
        };
        const history = async () => {
          const states = [];
          for await (const state of graph.getStateHistory(thread)) states.push(state);
          return states;
        };
        return { graph, thread, second, third, run, branch, history };
      };

      /** The logs of a branch that only ever grew: one more line each time. */
      const grown = (...lines: string[]) => lines.map((_, index) => lines.slice(0, index + 1));
      const old = [turn("a1", 1), turn("a2", 2), turn("a3", 3)] as const;
      const [first, second] = old;

      it("forks by new input", async () => {
        const thread = await start();
        const fork = await thread.run("b3", thread.second);
        expect(await thread.branch(fork)).toEqual(grown(first, second, turn("b3", 4)));
        expect(await thread.branch(thread.third)).toEqual(grown(...old));
        const on = await thread.run("b4");
        expect(await thread.branch(on)).toEqual(grown(first, second, turn("b3", 4), turn("b4", 5)));
        const back = await thread.run("a4", thread.third);
        expect(await thread.branch(back)).toEqual(grown(...old, turn("a4", 6)));
        expect(await thread.branch(fork)).toEqual(grown(first, second, turn("b3", 4)));
      });

      it("forks by an update", async () => {
        const thread = await start();
        const updated = await thread.graph.updateState(thread.second, { log: ["patch"] }, "collect");
        const fork = (await thread.graph.getState(thread.thread)).config as Config;
        expect(fork.configurable.checkpoint_id).toBe(updated.configurable?.checkpoint_id);
        expect(await thread.branch(fork)).toEqual(grown(first, second, "patch"));
        expect(await thread.branch(thread.third)).toEqual(grown(...old));
        const on = await thread.run("b4", fork);
        expect(await thread.branch(on)).toEqual(grown(first, second, "patch", turn("b4", 4)));
        expect(await thread.branch(thread.third)).toEqual(grown(...old));
      });

      it("forks by a write that replaces what the reducer would add to", async () => {
        const thread = await start();
        await thread.graph.updateState(thread.second, { log: new Overwrite(["anew"]) }, "collect");
        const fork = (await thread.graph.getState(thread.thread)).config as Config;
        expect(await thread.branch(fork)).toEqual([...grown(first, second), ["anew"]]);
        expect(await thread.branch(thread.third)).toEqual(grown(...old));
        const on = await thread.run("b4", fork);
        const added = ["anew", turn("b4", 4)];
        expect(await thread.branch(on)).toEqual([...grown(first, second), ["anew"], added]);
        expect(await thread.branch(thread.third)).toEqual(grown(...old));
      });

      it("forks by two updates of one checkpoint", async () => {
        const thread = await start();
        const update = async (line: string) => {
          await thread.graph.updateState(thread.second, { log: [line] }, "collect");
          return (await thread.graph.getState(thread.thread)).config as Config;
        };
        const one = await update("one");
        const two = await update("two");
        const onOne = await thread.run("b4", one);
        const onTwo = await thread.run("c4", two);
        expect(await thread.branch(one)).toEqual(grown(first, second, "one"));
        expect(await thread.branch(two)).toEqual(grown(first, second, "two"));
        expect(await thread.branch(onOne)).toEqual(grown(first, second, "one", turn("b4", 4)));
        expect(await thread.branch(onTwo)).toEqual(grown(first, second, "two", turn("c4", 5)));
        expect(await thread.branch(thread.third)).toEqual(grown(...old));
        expect((await thread.history())[0]?.config).toEqual(onTwo);
      });

      // With durability exit there is no checkpoint in the middle of a turn.
      it.skipIf(durability === "exit")("forks by running a turn once more", async () => {
        const thread = await start();
        const states = await thread.history();
        const asked = states.find(({ next, values }) => next[0] === "answer" && values.ask === "a2");
        await thread.graph.invoke(null, { ...(asked?.config as Config), durability });
        const { config } = await thread.graph.getState(thread.thread);
        // Here a subgraph remembers what it knew then.
        expect(await thread.branch(config as Config)).toEqual(grown(first, second));
        expect(await thread.branch(thread.third)).toEqual(grown(...old));
        const on = await thread.run("b3");
        expect(await thread.branch(on)).toEqual(grown(first, second, turn("b3", 3)));
      });
    });
  });

  it("knows which nodes ran in one step: an update that may be of either is refused", async () => {
    const graph = new StateGraph(State)
      .addNode("left", () => ({ log: ["left"] }))
      .addNode("right", () => ({ log: ["right"] }))
      .addEdge("__start__", "left")
      .addEdge("__start__", "right")
      .compile({ checkpointer: createSaver() });
    for (let attempt = 0; attempt < 5; attempt++) {
      const thread: Config = { configurable: { thread_id: crypto.randomUUID() } };
      await graph.invoke({ ask: "a" }, thread);
      await expect(graph.updateState(thread, { log: ["whose"] })).rejects.toThrow("Ambiguous update");
    }
  });
}
