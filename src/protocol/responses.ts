// How a command is answered: success or one of the protocol's errors.
import { AppError, type ErrorCode } from "../errors.ts";

export type ProtocolErrorCode =
  | "invalid_argument"
  | "unknown_command"
  | "unknown_error"
  | "no_such_run"
  | "no_such_subscription"
  | "no_such_namespace"
  | "no_such_interrupt"
  | "no_such_checkpoint"
  | "permission_denied"
  | "not_supported";

interface Meta {
  readonly thread_id: string;
  readonly applied_through_seq: number;
}

export interface Success {
  readonly type: "success";
  readonly id: number;
  readonly result: unknown;
  readonly meta: Meta;
}

export interface Failure {
  readonly type: "error";
  readonly id: number | null;
  readonly error: ProtocolErrorCode;
  readonly message: string;
}

/** A command cannot be carried out; the message is for the client. */
export class ProtocolError extends Error {
  readonly code: ProtocolErrorCode;

  constructor(code: ProtocolErrorCode, message: string) {
    super(message);
    this.name = "ProtocolError";
    this.code = code;
  }
}

export const toFailure = (id: number | null, { code, message }: ProtocolError): Failure => ({
  type: "error",
  id,
  error: code,
  message,
});

const CODES: Partial<Record<ErrorCode, ProtocolErrorCode>> = {
  forbidden: "permission_denied",
  thread_not_found: "no_such_run",
  run_not_found: "no_such_run",
  checkpoint_not_found: "no_such_checkpoint",
};

/** The protocol's error for one of ours; undefined for what is not the client's to repair. */
export function toProtocolError(error: unknown): ProtocolError | undefined {
  if (error instanceof ProtocolError) return error;
  if (!(error instanceof AppError) || error.status >= 500) return undefined;
  return new ProtocolError(CODES[error.code] ?? "invalid_argument", error.message);
}
