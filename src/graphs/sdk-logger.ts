// The logger that graphs get from `getLogger` of @langchain/langgraph-sdk/logging: it writes into the server's log.
import type { Logger } from "pino";

/** Where that function looks. */
const PLACE = Symbol.for("langgraph.api.sdk-logger");

/** The levels it has (npm's and the command line's, as winston names them), and ours for them. */
const LEVELS = {
  error: "error",
  warn: "warn",
  help: "info",
  data: "info",
  info: "info",
  prompt: "info",
  input: "info",
  http: "debug",
  verbose: "debug",
  debug: "debug",
  silly: "trace",
} as const;

/** Call it before the graphs are loaded: they ask for it at once. With several servers in a process the last one has it. */
export function offerLogger(log: Logger): void {
  const logger: Record<string, (...entry: unknown[]) => unknown> = {};
  for (const [name, level] of Object.entries(LEVELS)) {
    logger[name] = (message, ...more) => {
      const fields = [message, ...more].filter((part) => typeof part === "object" && part !== null);
      const [text] = typeof message === "object" ? [] : [String(message)];
      log[level](Object.assign({}, ...fields), text);
      return logger;
    };
  }
  Object.assign(globalThis, { [PLACE]: logger });
}
