// The statements on assistants and their versions. `sortBy` and `sortOrder` are of closed types, never text of a client.
import type { Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";
import { storableJson } from "../db/storable-json.ts";

type JsonObject = Record<string, unknown>;

/** What a version of an assistant says. */
export interface AssistantContent {
  readonly graph_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly config: JsonObject;
  readonly context: JsonObject;
  readonly metadata: JsonObject;
}

export interface AssistantVersionRow extends AssistantContent {
  readonly assistant_id: string;
  readonly version: number;
  readonly created_at: Date;
}

export interface AssistantRow extends AssistantVersionRow {
  readonly updated_at: Date;
}

const VERSION_COLUMNS =
  "assistant_id, version, graph_id, name, description, config, context, metadata, created_at";
const COLUMNS = `${VERSION_COLUMNS}, updated_at`;

/** An id that a graph has a right to is taken back from whoever has used it for something else. */
export const deleteImpostors = (db: Queryable, assistantIds: readonly string[]) =>
  db.query("delete from heddle.assistants where assistant_id = any ($1::uuid[]) and not system", [
    assistantIds,
  ]);

/** One assistant for each graph. One that nobody has changed yet follows langgraph.json and LANGGRAPH_CONFIG. */
export const upsertSystemAssistants = (
  db: Queryable,
  assistants: readonly (Pick<AssistantContent, "graph_id" | "description" | "config" | "context"> & {
    readonly assistant_id: string;
  })[],
) =>
  db.query(
    `with written as (
       insert into heddle.assistants as a
         (assistant_id, graph_id, name, description, config, context, metadata, system)
       select g.id, g.graph_id, g.graph_id, g.description, g.config::jsonb, g.context::jsonb,
         '{"created_by": "system"}'::jsonb, true
       from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
         as g (id, graph_id, description, config, context)
       on conflict (assistant_id) do update
       set description = excluded.description, config = excluded.config, context = excluded.context,
         updated_at = clock_timestamp()
       where a.last_version = 1
         and (a.description, a.config, a.context)
           is distinct from (excluded.description, excluded.config, excluded.context)
       returning ${COLUMNS}
     )
     insert into heddle.assistant_versions (${VERSION_COLUMNS})
     select ${VERSION_COLUMNS} from written
     on conflict (assistant_id, version) do update
     set description = excluded.description, config = excluded.config, context = excluded.context`,
    [
      assistants.map((assistant) => assistant.assistant_id),
      assistants.map((assistant) => assistant.graph_id),
      assistants.map((assistant) => assistant.description),
      assistants.map((assistant) => storableJson(JSON.stringify(assistant.config))),
      assistants.map((assistant) => storableJson(JSON.stringify(assistant.context))),
    ],
  );

/** No row when the id is taken. */
export const insertAssistant = (db: Queryable, assistantId: string, content: AssistantContent) =>
  db.query<AssistantRow>(
    `with made as (
       insert into heddle.assistants
         (assistant_id, graph_id, name, description, config, context, metadata)
       values ($1::uuid, $2::text, $3::text, $4::text, $5::jsonb, $6::jsonb, $7::jsonb)
       on conflict (assistant_id) do nothing
       returning ${COLUMNS}
     ), versions as (
       insert into heddle.assistant_versions (${VERSION_COLUMNS}) select ${VERSION_COLUMNS} from made
     )
     select ${COLUMNS} from made`,
    [
      assistantId,
      content.graph_id,
      content.name,
      content.description,
      content.config,
      content.context,
      content.metadata,
    ],
  );

export const selectAssistant = (db: Queryable, assistantId: string, scope?: Scope) =>
  db.query<AssistantRow>(
    `select ${COLUMNS} from heddle.assistants where assistant_id = $1::uuid and ${inScope(2)}`,
    [assistantId, scope],
  );

/** To run it: the graphs' own assistants are everybody's. */
export const selectRunnableAssistant = (db: Queryable, assistantId: string, scope?: Scope) =>
  db.query<AssistantRow>(
    `select ${COLUMNS} from heddle.assistants where assistant_id = $1::uuid and (system or ${inScope(2)})`,
    [assistantId, scope],
  );

/**
 * Makes a new version: what is undefined stays, metadata is merged key by key. The number is counted in the row itself,
 * which two changes at the same time get one after the other.
 */
export const updateAssistant = (
  db: Queryable,
  assistantId: string,
  change: Partial<AssistantContent>,
  scope: Scope,
) =>
  db.query<AssistantRow>(
    `with changed as (
       update heddle.assistants
       set graph_id = coalesce($3::text, graph_id),
         name = coalesce($4::text, name),
         description = coalesce($5::text, description),
         config = coalesce($6::jsonb, config),
         context = coalesce($7::jsonb, context),
         metadata = metadata || coalesce($8::jsonb, '{}'),
         version = last_version + 1,
         last_version = last_version + 1,
         updated_at = clock_timestamp()
       where assistant_id = $1::uuid and ${inScope(2)}
       returning ${COLUMNS}
     ), versions as (
       insert into heddle.assistant_versions (${VERSION_COLUMNS})
       select ${VERSION_COLUMNS.replace("created_at", "updated_at")} from changed
     )
     select ${COLUMNS} from changed`,
    [
      assistantId,
      scope,
      change.graph_id,
      change.name,
      change.description,
      change.config,
      change.context,
      change.metadata,
    ],
  );

/** Goes back, or forward, to a version that the caller may see. No row when there is none. */
export const setLatestVersion = (db: Queryable, assistantId: string, version: number, scope: Scope) =>
  db.query<AssistantRow>(
    `update heddle.assistants a
     set graph_id = v.graph_id, name = v.name, description = v.description, config = v.config,
       context = v.context, metadata = v.metadata, version = v.version, updated_at = clock_timestamp()
     from heddle.assistant_versions v
     where a.assistant_id = $1::uuid and v.assistant_id = a.assistant_id and v.version = $3::integer
       and ${inScope(2, "a.metadata")} and ${inScope(2, "v.metadata")}
     returning ${COLUMNS.replaceAll(/\w+/g, "a.$&")}`,
    [assistantId, scope, version],
  );

/** Newest first. */
export const selectVersions = (
  db: Queryable,
  assistantId: string,
  page: { metadata?: JsonObject | undefined; limit: number; offset: number },
  scope: Scope,
) =>
  db.query<AssistantVersionRow>(
    `select ${VERSION_COLUMNS} from heddle.assistant_versions
     where assistant_id = $1::uuid and ${inScope(2)} and ($3::jsonb is null or metadata @> $3::jsonb)
     order by version desc
     limit $4::bigint offset $5::bigint`,
    [assistantId, scope, page.metadata, page.limit, page.offset],
  );

/** With its versions (by cascade). */
export const deleteAssistant = (db: Queryable, assistantId: string, scope: Scope) =>
  db.query<{ assistant_id: string }>(
    `delete from heddle.assistants where assistant_id = $1::uuid and ${inScope(2)} returning assistant_id`,
    [assistantId, scope],
  );

export interface AssistantFilter {
  readonly graphId?: string | undefined;
  readonly name?: string | undefined;
  readonly metadata?: JsonObject | undefined;
}

export interface AssistantSearch extends AssistantFilter {
  readonly limit: number;
  readonly offset: number;
  readonly sortBy: "assistant_id" | "graph_id" | "created_at" | "updated_at" | "name";
  readonly sortOrder: "asc" | "desc";
}

const FOUND = `($2::text is null or graph_id = $2::text)
       and ($3::text is null or position(lower($3::text) in lower(name)) > 0)
       and ($4::jsonb is null or metadata @> $4::jsonb)
       and ${inScope(1)}`;

export const searchAssistantRows = (db: Queryable, search: AssistantSearch, scope: Scope) =>
  db.query<AssistantRow>(
    `select ${COLUMNS} from heddle.assistants
     where ${FOUND}
     order by ${search.sortBy} ${search.sortOrder}, assistant_id
     limit $5::bigint offset $6::bigint`,
    [scope, search.graphId, search.name, search.metadata, search.limit, search.offset],
  );

export const countAssistantRows = (db: Queryable, filter: AssistantFilter, scope: Scope) =>
  db.query<{ total: number }>(`select count(*)::integer as total from heddle.assistants where ${FOUND}`, [
    scope,
    filter.graphId,
    filter.name,
    filter.metadata,
  ]);
