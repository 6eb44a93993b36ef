// Reads the types of one graph's file with the official parser: seconds of work for the TypeScript compiler, so it has a
// thread of its own, which ends with it.
import { parentPort, workerData } from "node:worker_threads";

// The parser's own door (`getStaticGraphSchema`) checks all declarations of all packages first, and throws away what it
// finds: more than half of the time. So it is opened behind that door.
const parser = new URL("parser.mjs", import.meta.resolve("@langchain/langgraph-api/schema"));
const { SubgraphExtractor } = await import(parser.href);

const [schemas] = SubgraphExtractor.extractSchemas([workerData], {
  strict: false,
  tsConfigOptions: { skipLibCheck: true },
});
parentPort?.postMessage(schemas);
