// The operations of a batch as the steps that carry them out: neighbours of one kind are one statement, and every
// operation sees what those before it have done. Pure.
import type {
  GetOperation,
  ListNamespacesOperation,
  Operation,
  PutOperation,
  SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { AppError } from "../errors.ts";
import { toAddressId } from "./address.ts";

/** What LangGraph's operations leave out, and the HTTP API has. */
export interface StoreGet extends GetOperation {
  readonly refreshTtl?: boolean | undefined;
}
export interface StorePut extends PutOperation {
  /** Minutes; null: the item never expires; undefined: as the server is set. */
  readonly ttl?: number | null | undefined;
}
export interface StoreSearch extends SearchOperation {
  readonly refreshTtl?: boolean | undefined;
}

/** With the place of each operation in the batch. */
export type Step =
  | { readonly kind: "get"; readonly entries: Entry<StoreGet>[] }
  | { readonly kind: "put"; readonly entries: Entry<StorePut>[] }
  | { readonly kind: "search"; readonly entries: [Entry<StoreSearch>] }
  | { readonly kind: "list"; readonly entries: [Entry<ListNamespacesOperation>] };

export interface Entry<T> {
  readonly at: number;
  readonly operation: T;
}

/** @throws AppError invalid_request for what is no operation */
export function toSteps(operations: readonly Operation[]): Step[] {
  const steps: Step[] = [];
  // A statement may write an address only once.
  let written = new Set<string>();
  for (const [at, operation] of operations.entries()) {
    const last = steps.at(-1);
    if ("namespacePrefix" in operation) steps.push({ kind: "search", entries: [{ at, operation }] });
    else if ("value" in operation) {
      const address = toAddressId(operation);
      if (last?.kind === "put" && !written.has(address)) last.entries.push({ at, operation });
      else {
        written = new Set();
        steps.push({ kind: "put", entries: [{ at, operation }] });
      }
      written.add(address);
    } else if ("key" in operation) {
      const refreshes = last?.kind === "get" ? last.entries[0]?.operation.refreshTtl : undefined;
      if (last?.kind === "get" && refreshes === (operation as StoreGet).refreshTtl)
        last.entries.push({ at, operation });
      else steps.push({ kind: "get", entries: [{ at, operation }] });
    } else if ("limit" in operation || "matchConditions" in operation) {
      steps.push({ kind: "list", entries: [{ at, operation }] });
    } else throw new AppError("invalid_request", "The store was given something that is no operation.");
  }
  return steps;
}
