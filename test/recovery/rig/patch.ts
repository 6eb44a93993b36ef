// A change of a source text at an anchor: how crash points and mutants get into the server without a switch in it.
export interface Patch {
  /** Relative to the repository, `src/runs/worker.ts`. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  /** What stands there instead; `$&` is what was found. */
  readonly put: string;
}

/** @throws when the anchor is not found exactly once: the source has changed, and the patch must follow it */
export function applyPatch(source: string, { file, find, put }: Patch): string {
  const count = source.split(find).length - 1;
  if (count !== 1)
    throw new Error(`The anchor of a patch is ${count} times in ${file}: ${JSON.stringify(find)}`);
  return source.replace(find, () => put.replaceAll("$&", find));
}
