// A row of docs/compatibility.md: one endpoint, field or rule of the LangGraph Server API, what Heddle does, what the
// official dev server does where that is something else, and the check that Heddle does it. The page is made of the
// rows, so nothing stands in it that is not tried.
import type { Client } from "@langchain/langgraph-sdk";

/** A server under test, and the SDK of one version that speaks to it. */
export interface Served {
  readonly url: string;
  readonly client: Client;
  /** The SDK of the version that is tried now, with all it exports. */
  readonly sdk: typeof import("@langchain/langgraph-sdk");
  /** A request by hand; the path starts with a slash. An object as `body` is sent as JSON. */
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /**
   * Another server, for the time of `check`: of a project with these keys in its langgraph.json, and these other files.
   * References to files are absolute, or to those.
   */
  serve(
    project: object,
    check: (served: Served) => Promise<void>,
    files?: Readonly<Record<string, string>>,
  ): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of any shape are looked into, and a wrong one fails the check
  readonly json: any;
}

export interface Row {
  /** What it is about, as the reference names it: `POST /threads`, `POST /threads: ttl`, `stream_mode: updates`. */
  readonly of: string;
  /** What Heddle does, in one sentence: the title of the test. */
  readonly heddle: string;
  /** What the official dev server does, where that is something else. */
  readonly dev?: string;
  /** Why Heddle does otherwise. Required with `dev`. */
  readonly why?: string;
  check(served: Served): Promise<void>;
}

/** `plain`: fixtures/conformance/langgraph.json; `project`: with an app and settings of its own; `keys`: with API_KEYS; `rules`: with `auth`; `handlers`: with an `auth` of several levels. */
export type ServerKind = "plain" | "project" | "keys" | "rules" | "handlers";

/** A section of the page. */
export interface Section {
  readonly title: string;
  /** The server that its rows are tried on; `plain` when left out. */
  readonly server?: ServerKind;
  readonly rows: readonly Row[];
}
