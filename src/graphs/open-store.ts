// How whoever runs a graph gets the store that the graph may see. The store itself is in src/store/.
import type { BaseStore } from "@langchain/langgraph-checkpoint";

interface StoreHolder {
  /** The identity of who has asked for it (`langgraph_auth_user_id`). */
  readonly identity: unknown;
  /** What is put counts only while this is the thread's newest token. */
  readonly fence?: { readonly threadId: string; readonly token: string } | undefined;
}

export type OpenStore = (holder: StoreHolder) => BaseStore;
