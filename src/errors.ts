// Owns every error that a caller may see: its code, its HTTP status, its sentence. Knows nothing of HTTP
// frameworks; `api/error-handler.ts` is the one place that turns an AppError into a response.
// `docs/errors.md` is compared with this table by test/documents.test.ts.

interface ErrorRow {
  readonly status: number;
  readonly summary: string;
}

/** The table of errors. A code, once published, keeps its meaning. */
export const ERRORS = {
  invalid_request: { status: 422, summary: "The request does not have the shape the route asks for." },
  malformed_json: { status: 400, summary: "The body is not JSON." },
  invalid_text: {
    status: 422,
    summary: "A text holds NUL or a lone surrogate, which PostgreSQL cannot store.",
  },
  too_deep: { status: 422, summary: "The body is nested deeper than the limit." },
  payload_too_large: {
    status: 413,
    summary: "The body, the upload or what it would become is larger than the limit.",
  },
  unsupported_media_type: { status: 415, summary: "The content type is not one the route reads." },
  unauthorized: { status: 401, summary: "The request has no valid credentials." },
  forbidden: { status: 403, summary: "The project's rules do not let the caller do this." },
  route_not_found: { status: 404, summary: "No route has this method and path." },
  assistant_not_found: { status: 404, summary: "No assistant and no graph has this id." },
  assistant_exists: { status: 409, summary: "An assistant with this id exists already." },
  assistant_of_graph: {
    status: 409,
    summary: "The assistant belongs to a graph of langgraph.json and cannot be deleted.",
  },
  graph_not_loaded: {
    status: 409,
    summary: "langgraph.json names this graph, but it could not be loaded, made or drawn.",
  },
  thread_not_found: { status: 404, summary: "No thread has this id." },
  message_state_not_found: {
    status: 404,
    summary: "The thread has no such message, or its state has been cleaned up.",
  },
  version_conflict: {
    status: 412,
    summary: "What If-Match names is not the current version, which ETag and the details have.",
  },
  run_not_found: { status: 404, summary: "The thread has no run with this id." },
  cron_not_found: { status: 404, summary: "No cron has this id." },
  item_not_found: { status: 404, summary: "The caller may not see the store's item with this key." },
  checkpoint_not_found: { status: 404, summary: "The thread has no checkpoint with this id." },
  unknown_storage: { status: 422, summary: "This server keeps no checkpoints in a storage of this name." },
  checkpoint_unreadable: {
    status: 409,
    summary: "The stored checkpoint is broken, or of a newer version than this server knows.",
  },
  topology_mismatch: {
    status: 409,
    summary: "The graph has changed since the checkpoint; details name the executors that differ.",
  },
  storage_unavailable: { status: 503, summary: "The storage of the checkpoint does not answer." },
  namespace_required: { status: 400, summary: "An item of the store was put without a namespace." },
  thread_exists: { status: 409, summary: "A thread with this id exists already." },
  thread_being_deleted: {
    status: 409,
    summary: "What had this id is still being deleted; some seconds have been waited for it.",
  },
  thread_not_copied: {
    status: 409,
    summary: "No thread has the id of the one to be copied (the official server's status).",
  },
  thread_busy: { status: 409, summary: "The thread has an unfinished run, so its state cannot be changed." },
  thread_has_no_graph: {
    status: 400,
    summary: "The thread has no graph yet: run it once, or set metadata.graph_id.",
  },
  run_in_progress: {
    status: 422,
    summary: "The thread is running and the multitask strategy is reject, or it is running deep research.",
  },
  idempotency_key_reused: {
    status: 422,
    summary: "Another request was sent with this Idempotency-Key.",
  },
  ui_not_found: { status: 404, summary: "The agent has no such UI component or file of one." },
  file_not_found: { status: 404, summary: "The thread has no such file." },
  file_not_regular: { status: 400, summary: "The path is a folder, a link or a device, not a regular file." },
  path_outside: { status: 400, summary: "The path is not inside the thread's folders." },
  invalid_file_name: {
    status: 400,
    summary: "The file name is empty, too long, or has forbidden characters.",
  },
  range_not_satisfiable: { status: 416, summary: "The asked range lies outside the file." },
  upload_incomplete: { status: 400, summary: "The upload ended before all of it had arrived." },
  storage_full: { status: 507, summary: "The disk or the quota is full." },
  sandbox_unavailable: { status: 503, summary: "The configured sandbox does not work on this machine." },
  import_invalid: {
    status: 422,
    summary:
      "The file is no export of a thread, was cut off, or holds what no thread can; nothing was changed.",
  },
  import_conflict: {
    status: 409,
    summary: "The thread has gone on here otherwise than in the file; nothing was changed.",
  },
  session_not_found: { status: 404, summary: "The caller has no session with this id." },
  session_kind_fixed: { status: 409, summary: "The session is kept elsewhere than the request says." },
  message_store_not_found: { status: 422, summary: "No message store has this name." },
  message_store_unavailable: { status: 503, summary: "What keeps the session's messages does not answer." },
  embedding_failed: {
    status: 502,
    summary: "The embedding model of the store's index failed; nothing was written.",
  },
  database_unavailable: { status: 503, summary: "PostgreSQL does not answer." },
  shutting_down: { status: 503, summary: "The server is stopping and takes no new work." },
  internal: { status: 500, summary: "Something failed that should not; the log has the cause." },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

interface AppErrorOptions {
  readonly cause?: unknown;
  /** Machine-readable addition, sent to the caller: never a host path, a secret or SQL. */
  readonly details?: unknown;
  /** Instead of the code's own status: what the project's rules answer. */
  readonly status?: number;
  /** Headers of the response. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error whose message may be shown to the caller. Everything else is answered with `internal`. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.details = options.details;
    this.status = options.status ?? ERRORS[code].status;
    this.headers = options.headers ?? {};
  }
}

/** Whether `error` is an AppError with this code. */
export function isAppError(error: unknown, code?: ErrorCode): error is AppError {
  return error instanceof AppError && (code === undefined || error.code === code);
}

/** Ends the start of the server: main.ts prints these lines instead of a stack and exits with code 1. */
export class StartupError extends Error {
  /** The file the cause lies in, if there is one. */
  readonly file: string | undefined;
  /** The next command or edit that helps. */
  readonly next: string;

  constructor(message: string, options: { file?: string; next: string; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = "StartupError";
    this.file = options.file;
    this.next = options.next;
  }
}
