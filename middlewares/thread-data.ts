// Tells the state where the thread's folders lie (document 000, "thread_data"). The paths are relative to the
// server's data directory, since state reaches clients.
import { isDeepStrictEqual } from "node:util";
import { createMiddleware } from "langchain";
import { type ThreadFiles, ThreadState, threadIdOf } from "#kit";

interface ThreadDataOptions {
  readonly files: Pick<ThreadFiles, "paths" | "ensure">;
  /** True: the folders come into being with their first file. False: at the start of each turn. */
  readonly lazyInit?: boolean;
}

export function createThreadData({ files, lazyInit = true }: ThreadDataOptions) {
  return createMiddleware({
    name: "thread-data",
    stateSchema: ThreadState.pick("thread_data").schema,
    beforeAgent: async (state, runtime) => {
      const threadId = threadIdOf(runtime);
      if (!lazyInit) await files.ensure(threadId);
      const thread_data = files.paths(threadId);
      // Written again when it differs: a copied thread brings the folders of its original.
      return isDeepStrictEqual(state.thread_data, thread_data) ? undefined : { thread_data };
    },
  });
}
