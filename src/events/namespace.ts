// Namespaces of LangGraph: the path to a graph inside a graph, `node:<task id>` by `node:<task id>`.

/** `node:<task id>` is of the node `node`. */
export const toNode = (segment: string) => segment.split(":", 1)[0] ?? segment;

export const sameNamespace = (left: readonly string[], right: readonly string[]) =>
  left.length === right.length && left.every((segment, level) => segment === right[level]);
