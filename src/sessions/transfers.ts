// Threads that are taken from one Heddle to another, as the API sees them.
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { isAppError } from "../errors.ts";
import type { Ttl } from "../threads/threads.sql.ts";
import { exportThread } from "./export-thread.ts";
import { type Imported, type ImportRequest, importThread, readThreadHeader } from "./import-thread.ts";
import type { Sessions } from "./sessions.ts";
import type { Spool } from "./spool.ts";
import type { ThreadHeader } from "./thread-file.ts";

export interface Transfers {
  /** Of one moment; the caller closes the file. `owner`: whose session goes with it. @throws AppError thread_not_found */
  write(threadId: string, reader: { readonly scope: Scope; readonly owner: string }): Promise<Spool>;
  /** What the file says it is. @throws AppError import_invalid */
  readHeader(file: Spool): Promise<ThreadHeader>;
  /** All of it or nothing. @throws AppError import_invalid, import_conflict, thread_exists, thread_busy */
  read(request: Omit<ImportRequest, "ttl">): Promise<Imported>;
}

interface TransferDeps {
  readonly db: Database;
  readonly sessions: Pick<Sessions, "read">;
  /** What threads get that are not there yet. */
  readonly ttl: Ttl | undefined;
}

export const createTransfers = ({ db, sessions, ttl }: TransferDeps): Transfers => ({
  write: (threadId, { scope, owner }) =>
    exportThread(
      {
        db,
        readSession: (sessionId) =>
          sessions.read({ owner, sessionId }).catch((error: unknown) => {
            if (isAppError(error, "session_not_found")) return undefined;
            throw error;
          }),
      },
      threadId,
      scope,
    ),
  readHeader: readThreadHeader,
  read: (request) => importThread(db, { ...request, ttl }),
});
