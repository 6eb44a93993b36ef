// What a client may send into a graph: as data, and as the names of its nodes.
import { z } from "zod";

/**
 * LangGraph takes an object, or one of a list, that names itself a Command for a command: data must not do what only
 * `command` is for.
 */
const isCommandInDisguise = (input: unknown): boolean =>
  [input]
    .flat()
    .some(
      (item) => typeof item === "object" && item !== null && "lg_name" in item && item.lg_name === "Command",
    );

/** What goes into a graph's state. */
export const graphInput = z
  .unknown()
  .refine(
    (input) => !isCommandInDisguise(input),
    'An object with lg_name "Command" is no input. Send a command as `command`.',
  );

/** LangGraph looks nodes up as plain properties, and takes what every object has for one of them. */
export const nodeName = z
  .string()
  .refine((name) => !(name in Object.prototype), { error: ({ input }) => `There is no node "${input}".` });

const target = z.union([nodeName, z.looseObject({ node: nodeName, input: z.unknown().optional() })]);

/** Where a command jumps to. */
export const goto = z.union([target, z.array(target)]);

/** What a command writes, by channel. */
export const update = z.union([
  z.record(z.string(), z.unknown()),
  z.array(z.tuple([z.string(), z.unknown()])),
]);
