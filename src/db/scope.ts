// Whose rows a statement may see. Every statement that a caller's request reaches has it in its condition.

/**
 * What a row's metadata must contain to be seen; undefined: everything is (`auth/access.ts`). `{ $either: [a, b] }`: one
 * of two such objects.
 */
export type Scope = Readonly<Record<string, unknown>> | undefined;

/** The condition for the parameter with this number; `column` is the metadata that decides. */
export const inScope = (parameter: number, column = "metadata") => {
  const scope = `$${parameter}::jsonb`;
  return `(${scope} is null or case when jsonb_exists(${scope}, '$either')
    then ${column} @> (${scope} #> '{$either,0}') or ${column} @> (${scope} #> '{$either,1}')
    else ${column} @> ${scope} end)`;
};
