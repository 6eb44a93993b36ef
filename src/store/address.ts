// What names an item: its namespace and its key. Refuses what PostgreSQL could not keep apart or could not index.
import { AppError } from "../errors.ts";

export interface Address {
  readonly namespace: readonly string[];
  readonly key: string;
}

/** An entry of a btree may have some 2,700 bytes; a label needs up to 7 more than its text. */
const MAX_BYTES = 2_400;
const BYTES_PER_LABEL = 7;

/** One string for each address. */
export const toAddressId = ({ namespace, key }: Address, owner = "") =>
  JSON.stringify([owner, namespace, key]);

/** For what is put. @throws AppError namespace_required, invalid_request, invalid_text */
export function checkAddress(owner: string, { namespace, key }: Address): void {
  if (!Array.isArray(namespace) || namespace.length === 0) throw namespaceRequired();
  checkTexts(namespace, key);
  if (namespace.includes("")) throw wrongLabels(namespace);
  const bytes = [owner, key, ...namespace].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes + namespace.length * BYTES_PER_LABEL > MAX_BYTES) {
    throw new AppError(
      "invalid_request",
      `Namespace and key are longer than ${MAX_BYTES} bytes together (${BYTES_PER_LABEL} more for each label).`,
    );
  }
}

/** For what is looked for. @throws AppError invalid_request, invalid_text */
export function checkTexts(labels: readonly string[], key = ""): void {
  for (const text of [...labels, key]) {
    if (typeof text !== "string") {
      throw new AppError("invalid_request", "Labels of a namespace and keys must be texts.");
    }
    // Half a pair would become U+FFFD on its way, and two keys the same one.
    if (text.includes("\0") || !text.isWellFormed()) {
      throw new AppError(
        "invalid_text",
        "A namespace or key has a NUL character or half of a surrogate pair, which PostgreSQL cannot store.",
      );
    }
  }
}

/** What HTTP can name: there a namespace is also written with periods between its labels. @throws AppError */
export function checkLabels(namespace: readonly string[]): void {
  if (namespace.some((label) => label === "" || label.includes("."))) throw wrongLabels(namespace);
}

export const namespaceRequired = () => new AppError("namespace_required", "Namespace is required");

const wrongLabels = (namespace: readonly string[]) =>
  new AppError(
    "invalid_request",
    `Namespace labels cannot be empty or contain periods. Received: ${namespace.join(".")}`,
  );
