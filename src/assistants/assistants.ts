// Assistants: a graph with a configuration, in versions. Every graph has one of its own, whose id follows from the
// graph's name, and wherever an assistant is asked for, the graph's name will do.
import { validate as isUuid, NIL, v5 as uuidV5, v7 as uuidV7 } from "uuid";
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError } from "../errors.ts";
import type { Graphs } from "../graphs/registry.ts";
import {
  type AssistantContent,
  type AssistantFilter,
  type AssistantRow,
  type AssistantSearch,
  type AssistantVersionRow,
  countAssistantRows,
  deleteAssistant,
  deleteImpostors,
  insertAssistant,
  searchAssistantRows,
  selectAssistant,
  selectRunnableAssistant,
  selectVersions,
  setLatestVersion,
  updateAssistant,
  upsertSystemAssistants,
} from "./assistants.sql.ts";
import {
  ALLOW_MINUTES,
  deleteRunsOfAssistant,
  MINUTES_MS,
  selectThreadsOfAssistant,
  settleThreads,
  takeThreadsOfAssistant,
} from "./runs-of-assistant.sql.ts";

/** `scope` limits the caller to some assistants; all others are as if they were not there. */
export interface Assistants {
  /** Makes the assistant of each graph, and brings those up to date that nobody has changed. */
  sync(): Promise<void>;
  /** The id: of a graph's own assistant when it is a graph's name. */
  idOf(assistantOrGraphId: string): string;
  /**
   * To run it: a graph's own assistant is everybody's, whatever the scope.
   * @throws AppError assistant_not_found, graph_not_loaded
   */
  get(assistantOrGraphId: string, scope?: Scope): Promise<AssistantRow>;
  /** To look at it; its graph may be gone. @throws AppError assistant_not_found */
  read(assistantId: string, scope: Scope): Promise<AssistantRow>;
  /** @throws AppError assistant_not_found when there is no such graph, assistant_exists, graph_not_loaded */
  create(
    assistant: AssistantContent & { assistant_id?: string | undefined },
    ifExists: "raise" | "do_nothing",
    scope: Scope,
  ): Promise<AssistantRow>;
  /** Makes a new version; metadata is merged key by key. @throws AppError assistant_not_found, graph_not_loaded */
  patch(assistantId: string, change: Partial<AssistantContent>, scope: Scope): Promise<AssistantRow>;
  /**
   * With its versions and runs; what still runs is stopped. First `removeThread` gets each thread that was last run
   * with it: when it fails, the assistant is still there and can be deleted again.
   * @throws AppError assistant_not_found, assistant_of_graph
   */
  remove(
    assistantId: string,
    scope: Scope,
    removeThread?: (threadId: string) => Promise<void>,
  ): Promise<void>;
  search(search: AssistantSearch, scope: Scope): Promise<{ assistants: AssistantRow[]; total: number }>;
  count(filter: AssistantFilter, scope: Scope): Promise<number>;
  /** Newest first. @throws AppError assistant_not_found */
  versions(
    assistantId: string,
    page: { metadata?: Record<string, unknown> | undefined; limit: number; offset: number },
    scope: Scope,
  ): Promise<AssistantVersionRow[]>;
  /** Makes that version the one that counts, all of it. @throws AppError assistant_not_found */
  setLatest(assistantId: string, version: number, scope: Scope): Promise<AssistantRow>;
}

interface Options {
  readonly db: Database;
  readonly graphs: Graphs;
  /** By graph: the config, and in `context` the context, that its own assistant starts with. */
  readonly settings: Readonly<Record<string, { readonly context?: Record<string, unknown> | undefined }>>;
}

/** The namespace of the LangGraph server's assistant ids: the same graph has the same id on every server. */
const NAMESPACE = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";
const THREADS_PER_PAGE = 100;

export function createAssistants({ db, graphs, settings }: Options): Assistants {
  const graphIds = [...graphs.ids, ...graphs.failures.map(({ id }) => id)];
  const byGraph = new Map(graphIds.map((graphId) => [graphId, uuidV5(graphId, NAMESPACE)]));
  const own = new Set(byGraph.values());
  const idOf = (id: string) => byGraph.get(id) ?? id;

  const read = async (assistantId: string, scope: Scope) => {
    const [assistant] = isUuid(assistantId) ? await selectAssistant(db, assistantId, scope) : [];
    if (!assistant) throw assistantNotFound();
    return assistant;
  };

  return {
    idOf,
    read,
    async sync() {
      const assistants = Array.from(byGraph, ([graph_id, assistant_id]) => {
        const { context = {}, ...config } = settings[graph_id] ?? {};
        return { assistant_id, graph_id, description: graphs.description(graph_id) ?? null, config, context };
      });
      await db.transaction(async (tx) => {
        await deleteImpostors(tx, [...own]);
        await upsertSystemAssistants(tx, assistants);
      });
    },
    async get(id, scope) {
      const assistantId = idOf(id);
      const [assistant] = isUuid(assistantId) ? await selectRunnableAssistant(db, assistantId, scope) : [];
      if (!assistant) throw assistantNotFound();
      graphs.expect(assistant.graph_id);
      return assistant;
    },
    async create({ assistant_id = uuidV7(), ...content }, ifExists, scope) {
      graphs.expect(content.graph_id);
      const [made] = await insertAssistant(db, assistant_id, content);
      if (made) return made;
      const [found] = ifExists === "do_nothing" ? await selectAssistant(db, assistant_id, scope) : [];
      if (found) return found;
      throw new AppError("assistant_exists", "Assistant already exists");
    },
    async patch(assistantId, change, scope) {
      if (change.graph_id !== undefined) graphs.expect(change.graph_id);
      const [assistant] = isUuid(assistantId) ? await updateAssistant(db, assistantId, change, scope) : [];
      if (!assistant) throw assistantNotFound();
      return assistant;
    },
    async remove(assistantId, scope, removeThread) {
      const { graph_id } = await read(assistantId, scope);
      if (own.has(assistantId)) {
        throw new AppError(
          "assistant_of_graph",
          `This assistant belongs to graph "${graph_id}" of langgraph.json and cannot be deleted.`,
        );
      }
      if (removeThread) {
        for await (const threadId of threadsOf(db, assistantId)) await removeThread(threadId);
      }
      await removeRuns(db, assistantId);
      const [gone] = await deleteAssistant(db, assistantId, scope);
      if (!gone) throw assistantNotFound();
      // Runs that were added in the meantime.
      while ((await removeRuns(db, assistantId)) > 0);
    },
    async search(search, scope) {
      const assistants = await searchAssistantRows(db, search, scope);
      const [count] = await countAssistantRows(db, search, scope);
      return { assistants, total: count?.total ?? 0 };
    },
    async count(filter, scope) {
      const [count] = await countAssistantRows(db, filter, scope);
      return count?.total ?? 0;
    },
    async versions(assistantId, page, scope) {
      const found = isUuid(assistantId) ? await selectAssistant(db, assistantId, scope) : [];
      if (found.length === 0) {
        throw new AppError("assistant_not_found", `Assistant "${assistantId}" not found.`);
      }
      return selectVersions(db, assistantId, page, scope);
    },
    async setLatest(assistantId, version, scope) {
      await read(assistantId, scope);
      const [assistant] = await setLatestVersion(db, assistantId, version, scope);
      if (!assistant) throw new AppError("assistant_not_found", "Assistant version not found");
      return assistant;
    },
  };
}

async function* threadsOf(db: Database, assistantId: string): AsyncGenerator<string> {
  let last: string = NIL;
  for (;;) {
    const page = await selectThreadsOfAssistant(db, assistantId, last, THREADS_PER_PAGE);
    if (page.length === 0) return;
    for (const { thread_id } of page) yield thread_id;
    last = page.at(-1)?.thread_id ?? last;
  }
}

/** Returns how many it has removed. */
const removeRuns = (db: Database, assistantId: string): Promise<number> =>
  db.transaction(
    async (tx) => {
      await tx.query(ALLOW_MINUTES);
      const taken = await takeThreadsOfAssistant(tx, assistantId);
      const threadIds = taken.map(({ thread_id }) => thread_id);
      const gone = await deleteRunsOfAssistant(tx, assistantId, threadIds);
      await settleThreads(tx, threadIds);
      return gone.length;
    },
    { timeoutMs: MINUTES_MS },
  );

const assistantNotFound = () => new AppError("assistant_not_found", "Assistant not found");
