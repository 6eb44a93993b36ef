// Which frames a client wants: channels, namespaces, depth.
import { toNode } from "../events/namespace.ts";
import type { Frame } from "./frame.ts";

const CHANNELS: ReadonlySet<string> = new Set([
  "values",
  "updates",
  "messages",
  "tools",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom",
]);

export interface Filter {
  /** `custom` stands for all custom events, `custom:<name>` for those of a name. */
  readonly channels: readonly string[];
  /** Frames of these namespaces and of what is below them; all when there are none. */
  readonly namespaces?: readonly (readonly string[])[] | undefined;
  /** How many levels below its namespace a frame may be. */
  readonly depth?: number | undefined;
}

export const isChannel = (name: string) => CHANNELS.has(name) || /^custom:./.test(name);

/** Whether somebody reads states: they are costly to rebuild. */
export const needsStates = ({ channels }: Filter) =>
  channels.includes("values") || channels.includes("tasks");

export function matches({ channels, namespaces = [], depth }: Filter, frame: Frame): boolean {
  const { channel, namespace } = frame;
  if (!channels.includes(channel) && !(frame.method === "custom" && channels.includes("custom")))
    return false;
  if (namespaces.length === 0) return true;
  return namespaces.some(
    (prefix) =>
      isBelow(prefix, namespace) && (depth === undefined || namespace.length - prefix.length <= depth),
  );
}

/** A segment of the prefix without a task's id, `node`, stands for every task of the node, `node:<id>`. */
const isBelow = (prefix: readonly string[], namespace: readonly string[]) =>
  prefix.length <= namespace.length &&
  prefix.every((segment, level) => {
    const found = namespace[level] ?? "";
    return found === segment || (!segment.includes(":") && toNode(found) === segment);
  });
