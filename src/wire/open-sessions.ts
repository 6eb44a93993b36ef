// Puts sessions together: the message stores that there are, who may have which session, and threads as files.
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Importer } from "../graphs/importer.ts";
import type { Project } from "../graphs/langgraph-json.ts";
import { createSessions, type Sessions } from "../sessions/sessions.ts";
import { createMessageStores } from "../sessions/stores.ts";
import { createTransfers, type Transfers } from "../sessions/transfers.ts";
import type { Ttl } from "../threads/threads.sql.ts";

interface Options {
  readonly config: Config;
  readonly db: Database;
  readonly patient: Queryable;
  readonly project: Project;
  readonly importer: Importer;
  readonly ttl: Ttl | undefined;
  readonly log: Logger;
}

/** @throws StartupError when a message store that is named cannot be had */
export async function openSessions(
  options: Options,
): Promise<Sessions & { readonly transfers: Transfers; close(): Promise<void> }> {
  const { config, db, patient, project, importer, ttl, log } = options;
  const stores = await createMessageStores({
    db,
    patient,
    redisUrl: config.redisUrl,
    settings: config.sessions,
    own: project.message_stores,
    folder: project.folder,
    importer,
    log,
  });
  const sessions = createSessions({ db, patient, stores });
  return { ...sessions, transfers: createTransfers({ db, sessions, ttl }), close: stores.close };
}
