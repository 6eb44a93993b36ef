// The statements on assistants.
import type { Queryable } from "../db/database.ts";

export interface AssistantRow {
  readonly assistant_id: string;
  readonly graph_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly config: Record<string, unknown>;
  readonly context: Record<string, unknown>;
  readonly metadata: Record<string, unknown>;
  readonly version: number;
  readonly created_at: Date;
  readonly updated_at: Date;
}

const COLUMNS =
  "assistant_id, graph_id, name, description, config, context, metadata, version, created_at, updated_at";

/** One assistant for each graph; graphs that are there already stay as they are. */
export const insertSystemAssistants = (
  db: Queryable,
  assistants: readonly { assistantId: string; graphId: string; description: string | null }[],
) =>
  db.query(
    `insert into heddle.assistants (assistant_id, graph_id, name, description, metadata)
     select a.id, a.graph_id, a.graph_id, a.description, '{"created_by": "system"}'::jsonb
     from unnest($1::uuid[], $2::text[], $3::text[]) as a (id, graph_id, description)
     on conflict (assistant_id) do nothing`,
    [
      assistants.map((assistant) => assistant.assistantId),
      assistants.map((assistant) => assistant.graphId),
      assistants.map((assistant) => assistant.description),
    ],
  );

export const selectAssistant = (db: Queryable, assistantId: string) =>
  db.query<AssistantRow>(`select ${COLUMNS} from heddle.assistants where assistant_id = $1::uuid`, [
    assistantId,
  ]);

export interface AssistantSearch {
  readonly graphIds: readonly string[];
  readonly name?: string | undefined;
  readonly metadata?: Record<string, unknown> | undefined;
  readonly limit: number;
  readonly offset: number;
  readonly sortBy: "assistant_id" | "graph_id" | "created_at" | "updated_at" | "name";
  readonly sortOrder: "asc" | "desc";
}

/** A page, and in `total` how many there are in all. `sortBy` and `sortOrder` are of closed types, never text of a client. */
export const searchAssistantRows = (db: Queryable, search: AssistantSearch) =>
  db.query<AssistantRow & { total: string }>(
    `select ${COLUMNS}, count(*) over () as total
     from heddle.assistants
     where graph_id = any ($1::text[])
       and ($2::text is null or position(lower($2::text) in lower(name)) > 0)
       and ($3::jsonb is null or metadata @> $3::jsonb)
     order by ${search.sortBy} ${search.sortOrder}, assistant_id
     limit $4::bigint offset $5::bigint`,
    [search.graphIds, search.name ?? null, search.metadata ?? null, search.limit, search.offset],
  );
