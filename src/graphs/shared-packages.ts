// One copy of LangGraph in the process. A project has its own node_modules, but its graphs must be of the server's
// classes: the checkpointer, `Command`, messages and interrupts pass between them, and two copies do not know each other.
import { registerHooks } from "node:module";

const SHARED = /^@langchain\/(langgraph|langgraph-checkpoint|core)(\/|$)/;

/**
 * From now on these packages are the server's, whoever imports them. Also for `require`, which would otherwise get
 * the CommonJS build: that is a second copy as well.
 * @returns a function that undoes it
 */
export function shareLanggraph(): () => void {
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      // Our own question below passes here too.
      if (!SHARED.test(specifier) || context.parentURL === import.meta.url) {
        return nextResolve(specifier, context);
      }
      return { url: import.meta.resolve(specifier), format: "module", shortCircuit: true };
    },
  });
  return () => hooks.deregister();
}
