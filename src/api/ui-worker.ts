// A thread that bundles the project's UI components with LangGraph's bundler, and again whenever one of their files
// changes. It is a thread because the style sheets are made in JavaScript and would hold up the server's requests.
import { parentPort, workerData } from "node:worker_threads";
import { watch } from "@langchain/langgraph-ui/dist/bundler.mjs";

export interface UiWorkerData {
  /** The project's folder. */
  readonly cwd: string;
  /** Agent → file, as langgraph.json has it. */
  readonly sources: Readonly<Record<string, string>>;
  /** Packages that the client brings. */
  readonly shared: readonly string[];
}

export interface UiFile {
  readonly basename: string;
  readonly contents: Uint8Array;
}

/** What the thread says about an agent's components. */
export type UiMessage = { readonly agent: string } & (
  | { readonly files: readonly UiFile[] }
  | { readonly error: string }
);

const { cwd, sources, shared } = workerData as UiWorkerData;
const tell = (message: UiMessage) => parentPort?.postMessage(message);
const bundles: Bundle[] = [];
let isStopped = false;
type Bundle = Awaited<ReturnType<typeof watch>>;

async function bundleAll(): Promise<void> {
  for (const [agent, userPath] of Object.entries(sources)) {
    if (isStopped) return;
    try {
      const options = { cwd, userPath, config: { shared: [...shared] } };
      const bundle = await watch(agent, options, (files) => tell({ agent, files }));
      bundles.push(bundle);
      // Watching keeps its errors for itself.
      if (!isStopped) await bundle.rebuild();
    } catch (error) {
      tell({ agent, error: error instanceof Error ? error.message : String(error) });
    }
  }
}

const bundled = bundleAll();
// The bundler's own process would wait for ever for the end of a build that nobody ends.
parentPort?.once("message", async () => {
  isStopped = true;
  await Promise.all(bundles.map((bundle) => bundle.cancel()));
  await bundled;
  await Promise.all(bundles.map((bundle) => bundle.dispose()));
  process.exit();
});
