// What a request may do: who sends it, and what of each resource is visible to him. The rules are the project's own
// (`auth` of langgraph.json), those of API_KEYS, or none; whoever asks does not see the difference.

/** Resources and actions as the LangGraph SDK's `Auth` names them. */
interface AuthActions {
  readonly assistants: "create" | "read" | "update" | "delete" | "search";
  readonly threads: "create" | "read" | "update" | "delete" | "search" | "create_run";
  readonly crons: "create" | "read" | "update" | "delete" | "search";
  readonly store: "put" | "get" | "search" | "list_namespaces" | "delete";
}

/** Who sends the request, as `authenticate` has told. */
export interface Caller {
  readonly identity: string;
  readonly permissions: readonly string[];
  /** All that `authenticate` returned; graphs find it in `configurable.langgraph_auth_user`. */
  readonly user: Readonly<Record<string, unknown>>;
}

/**
 * What the metadata of a row must contain (`metadata @> scope`) for the caller to see it; with `{ $either: [a, b] }` one
 * of two such objects. Undefined: no restriction.
 * It goes into the statement that reads or changes the row, so that nothing is decided on what has changed since.
 */
export type Scope = Readonly<Record<string, unknown>> | undefined;

export interface Access {
  /** Undefined when nobody has to say who he is. */
  readonly caller: Caller | undefined;
  /** Whose items of the store are seen; empty when all share one store. */
  readonly owner: string;
  /**
   * Asks whether the caller may do this. `value` is what he asks for; the rules may change it, so what is in it
   * afterwards is what is to be done (`metadata.owner`, for one).
   * @returns what limits him
   * @throws AppError forbidden
   */
  check<R extends keyof AuthActions>(
    resource: R,
    action: AuthActions[R],
    value: Record<string, unknown>,
  ): Promise<Scope>;
}

/** What of a request tells who sends it. */
export interface IncomingRequest {
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** @throws AppError unauthorized, or what the project's rules answer */
export type Authenticate = (request: IncomingRequest) => Promise<Access>;

/** Who is let in, and what he may do. */
export interface Rules {
  readonly authenticate: Authenticate;
  /**
   * For when the server acts for somebody who was let in before. `user`: what was told of him then (`Caller.user`).
   * Undefined when it is of nobody who is known.
   */
  readonly accessOf: (user: unknown) => Access | undefined;
}

/** Everybody may do everything: there is no `auth` and no API_KEYS. */
export const OPEN_ACCESS: Access = { caller: undefined, owner: "", check: async () => undefined };
