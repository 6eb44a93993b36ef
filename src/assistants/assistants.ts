// Assistants: a graph with a configuration. Every graph has one of its own, whose id follows from the graph's name, and
// wherever an assistant is asked for, the graph's name will do.
import { validate as isUuid, v5 as uuidV5 } from "uuid";
import type { Database } from "../db/database.ts";
import { AppError } from "../errors.ts";
import type { Graphs } from "../graphs/registry.ts";
import {
  type AssistantRow,
  type AssistantSearch,
  insertSystemAssistants,
  searchAssistantRows,
  selectAssistant,
} from "./assistants.sql.ts";

export interface Assistants {
  /** Makes the assistant of each graph, once. */
  sync(): Promise<void>;
  /** By id or by graph name. @throws AppError assistant_not_found */
  get(assistantOrGraphId: string): Promise<AssistantRow>;
  search(
    search: Omit<AssistantSearch, "graphIds"> & { graphId?: string | undefined },
  ): Promise<{ assistants: AssistantRow[]; total: number }>;
}

/** The namespace of the LangGraph server's assistant ids: the same graph has the same id on every server. */
const NAMESPACE = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

export function createAssistants({ db, graphs }: { db: Database; graphs: Graphs }): Assistants {
  return {
    async sync() {
      await insertSystemAssistants(
        db,
        graphs.ids.map((graphId) => ({
          graphId,
          assistantId: uuidV5(graphId, NAMESPACE),
          description: graphs.description(graphId) ?? null,
        })),
      );
    },
    async get(id) {
      const assistantId = graphs.has(id) ? uuidV5(id, NAMESPACE) : id;
      const [assistant] = isUuid(assistantId) ? await selectAssistant(db, assistantId) : [];
      if (assistant && graphs.has(assistant.graph_id)) return assistant;
      throw new AppError("assistant_not_found", "Assistant not found");
    },
    async search({ graphId, ...search }) {
      const graphIds = graphId === undefined ? graphs.ids : graphs.ids.filter((id) => id === graphId);
      const rows = await searchAssistantRows(db, { ...search, graphIds });
      return {
        assistants: rows.map(({ total, ...assistant }) => assistant),
        total: Number(rows[0]?.total ?? 0),
      };
    },
  };
}
