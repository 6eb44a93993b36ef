// What a reader wants of a run's events: some modes, some graphs. The events keep their ids.
import type { FollowedEvent } from "../events/follow.ts";
import type { StreamMode } from "./run-kwargs.ts";

export interface EventSelection {
  readonly modes?: readonly StreamMode[] | undefined;
  /** Graphs by their place, `child:<task id>|grandchild:<task id>`; the root graph is "". Without what they start. */
  readonly namespaces?: readonly string[] | undefined;
}

export async function* selectEvents(
  pages: AsyncIterable<readonly FollowedEvent[]>,
  selection: EventSelection,
): AsyncGenerator<readonly FollowedEvent[]> {
  const isWanted = toCondition(selection);
  for await (const page of pages) {
    const wanted = page.filter(({ event }) => isWanted(event));
    if (wanted.length > 0) yield wanted;
  }
}

/** Of an event's name. What is about the run itself is always wanted. */
function toCondition({ modes, namespaces }: EventSelection): (event: string) => boolean {
  const wanted = modes && new Set<string>(modes.flatMap(toNames));
  const places = namespaces && new Set(namespaces);
  return (event) => {
    const [name = "", ...path] = event.split("|");
    if (name === "metadata" || name === "error") return true;
    if (wanted && !wanted.has(name)) return false;
    // These name the task that speaks, in its graph.
    const graph = name === "messages" || name === "tools" ? path.slice(0, -1) : path;
    return !places || places.has(graph.join("|"));
  };
}

function toNames(mode: StreamMode): string[] {
  switch (mode) {
    case "messages":
      return ["messages/metadata", "messages/partial", "messages/complete"];
    case "messages-tuple":
      return ["messages"];
    case "values":
      // With subgraphs, each state is preceded by its place in the history.
      return ["values", "checkpoints"];
    default:
      return [mode];
  }
}
