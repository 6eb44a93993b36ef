// What an assistant's graph looks like: its drawing, its schemas, its subgraphs.
import { AppError } from "../errors.ts";
import { toReason } from "../graphs/failure.ts";
import type { Graph } from "../graphs/graph.ts";
import type { Graphs } from "../graphs/registry.ts";
import type { GraphSchema, Schemas } from "../graphs/schemas.ts";
import type { AssistantRow } from "./assistants.sql.ts";

interface WireSchemas {
  readonly graph_id: string;
  readonly input_schema: object | null;
  readonly output_schema: object | null;
  readonly state_schema: object | null;
  readonly config_schema: object | null;
  readonly context_schema: object | null;
}

/** The dev server names them this way, Platform and the SDK's types as above. */
interface SubgraphSchemas extends WireSchemas {
  readonly state: object | null;
  readonly input: object | null;
  readonly output: object | null;
  readonly config: object | null;
}

/** All of them @throws AppError assistant_not_found when the graph is not served any more, graph_not_loaded */
export interface Descriptions {
  /** Nodes and edges. `xray`: how deep subgraphs are drawn; true: all of them. */
  drawing(assistant: AssistantRow, xray: boolean | number): Promise<object>;
  schemas(assistant: AssistantRow): Promise<WireSchemas>;
  /**
   * By namespace: names of nodes joined by "|".
   * @param where only the subgraph at `namespace`, and with `recurse` those inside as well
   */
  subgraphs(
    assistant: AssistantRow,
    where: { namespace?: string | undefined; recurse: boolean },
  ): Promise<Record<string, SubgraphSchemas>>;
}

export function createDescriptions({ graphs, schemas }: { graphs: Graphs; schemas: Schemas }): Descriptions {
  const graphOf = ({ graph_id, config }: AssistantRow): Promise<Graph> =>
    graphs.get(
      graph_id,
      { configurable: {}, ...config },
      { accessContext: "assistants.read", executionRuntime: null },
    );

  return {
    async drawing(assistant, xray) {
      const graph = await graphOf(assistant);
      const { configurable = {} } = assistant.config as { configurable?: Record<string, unknown> };
      try {
        const drawing = await graph.getGraphAsync({ configurable, xray });
        return drawing.toJSON();
      } catch (error) {
        throw new AppError(
          "graph_not_loaded",
          `Graph "${assistant.graph_id}" cannot be drawn: ${toReason(error)}.`,
          { cause: error },
        );
      }
    },
    async schemas(assistant) {
      const graph = await graphOf(assistant);
      return toWire(assistant.graph_id, await schemas.of(assistant.graph_id, graph));
    },
    async subgraphs(assistant, { namespace, recurse }) {
      const graph = await graphOf(assistant);
      const { graph_id } = assistant;
      const found: Record<string, SubgraphSchemas> = {};
      for await (const [name, subgraph] of graph.getSubgraphsAsync(
        undefined,
        recurse || namespace !== undefined,
      )) {
        const isWanted =
          namespace === undefined || name === namespace || (recurse && name.startsWith(`${namespace}|`));
        if (!isWanted) continue;
        const schema = await schemas.of(graph_id, subgraph, name);
        const { state = null, input = null, output = null, config = null } = schema;
        found[name] = { ...toWire(graph_id, schema), state, input, output, config };
      }
      return found;
    },
  };
}

/** In JavaScript the schemas of configuration and context are one. */
const toWire = (graph_id: string, schema: GraphSchema): WireSchemas => ({
  graph_id,
  input_schema: schema.input ?? null,
  output_schema: schema.output ?? null,
  state_schema: schema.state ?? null,
  config_schema: schema.config ?? null,
  context_schema: schema.config ?? null,
});
