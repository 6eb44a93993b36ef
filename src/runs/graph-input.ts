// What must not go into a graph as data.

/**
 * LangGraph takes an object, or one of a list, that names itself a Command for a command: data must not do what only
 * `command` is for.
 */
export const isCommandInDisguise = (input: unknown): boolean =>
  [input]
    .flat()
    .some(
      (item) => typeof item === "object" && item !== null && "lg_name" in item && item.lg_name === "Command",
    );

export const COMMAND_IN_DISGUISE =
  'An object with lg_name "Command" is no input. Send a command as `command`.';
