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
  payload_too_large: { status: 413, summary: "The body or the upload is larger than the limit." },
  unsupported_media_type: { status: 415, summary: "The content type is not one the route reads." },
  route_not_found: { status: 404, summary: "No route has this method and path." },
  assistant_not_found: { status: 404, summary: "No assistant and no graph has this id." },
  thread_not_found: { status: 404, summary: "No thread has this id." },
  run_not_found: { status: 404, summary: "The thread has no run with this id." },
  checkpoint_not_found: { status: 404, summary: "The thread has no checkpoint with this id." },
  thread_exists: { status: 409, summary: "A thread with this id exists already." },
  thread_busy: { status: 409, summary: "The thread has an unfinished run, so its state cannot be changed." },
  thread_has_no_graph: {
    status: 400,
    summary: "The thread has no graph yet: run it once, or set metadata.graph_id.",
  },
  run_in_progress: { status: 422, summary: "The thread is running and the multitask strategy is reject." },
  idempotency_key_reused: {
    status: 422,
    summary: "Another request was sent with this Idempotency-Key.",
  },
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
  database_unavailable: { status: 503, summary: "PostgreSQL does not answer." },
  shutting_down: { status: 503, summary: "The server is stopping and takes no new work." },
  internal: { status: 500, summary: "Something failed that should not; the log has the cause." },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

interface AppErrorOptions {
  readonly cause?: unknown;
  /** Machine-readable addition, sent to the caller: never a host path, a secret or SQL. */
  readonly details?: unknown;
}

/** An error whose message may be shown to the caller. Everything else is answered with `internal`. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: unknown;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = "AppError";
    this.code = code;
    this.details = options.details;
  }

  get status(): number {
    return ERRORS[this.code].status;
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
