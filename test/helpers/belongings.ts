// What a caller owns: one of each resource, made over HTTP with his credentials; and the same ids of nothing.
import { randomUUID } from "node:crypto";

export interface Belongings {
  /** Stands in everything, so that it can be looked for in an answer. */
  readonly mark: string;
  readonly thread_id: string;
  readonly run_id: string;
  /** Of the run's input. */
  readonly message_id: string;
  readonly checkpoint_id: string;
  /** A named one of the same state. */
  readonly workflow_checkpoint_id: string;
  readonly assistant_id: string;
  readonly cron_id: string;
  /** Of an upload. */
  readonly filename: string;
  readonly session_id: string;
  /** Of two items in the store, in the namespace "n" and in one named by the mark. */
  readonly key: string;
}

export class Caller {
  readonly url: string;
  readonly headers: Record<string, string>;

  constructor(url: string, headers: Record<string, string>) {
    this.url = url;
    this.headers = headers;
  }

  /** @param body sent as JSON, a form or a file as it is */
  async send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
    const isJson = body !== undefined && !(body instanceof FormData || body instanceof Blob);
    return fetch(this.url + path, {
      method,
      redirect: "manual",
      headers: { ...this.headers, ...(isJson ? { "content-type": "application/json" } : {}) },
      ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : (body as FormData | Blob) }),
      ...(signal ? { signal } : {}),
    });
  }

  async json(method: string, path: string, body?: unknown): Promise<Record<string, string>> {
    const response = await this.send(method, path, body);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? {} : JSON.parse(text);
  }
}

export const upload = (name: string, content: string) => {
  const form = new FormData();
  form.append("files", new Blob([content]), name);
  return form;
};

/** One of each resource. The run has ended. */
export async function acquire(caller: Caller): Promise<Belongings> {
  const mark = `mark-${randomUUID()}`;
  const metadata = { mark };
  const thread = await caller.json("POST", "/threads", { metadata });
  const { thread_id = "" } = thread;
  const message_id = randomUUID();
  const input = { messages: [{ role: "user", content: mark, id: message_id }] };
  await caller.json("POST", `/threads/${thread_id}/runs/wait`, { assistant_id: "echo", input, metadata });
  const runs = (await caller.json("GET", `/threads/${thread_id}/runs`)) as unknown as { run_id: string }[];
  const state = (await caller.json("GET", `/threads/${thread_id}/state`)) as unknown as {
    checkpoint: { checkpoint_id: string };
  };
  const named = await caller.json("POST", `/threads/${thread_id}/checkpoints`, { metadata });
  const filename = `${randomUUID()}.txt`;
  await caller.json("POST", `/threads/${thread_id}/uploads`, upload(filename, mark));
  const assistant = await caller.json("POST", "/assistants", { graph_id: "echo", name: mark, metadata });
  const cron = await caller.json("POST", "/runs/crons", {
    assistant_id: "echo",
    schedule: "0 0 1 1 *",
    input,
    metadata,
  });
  const key = randomUUID();
  for (const namespace of ["n", mark]) {
    await caller.json("PUT", "/store/items", { namespace: [namespace], key, value: { mark } });
  }
  const session_id = randomUUID();
  const messages = [{ type: "human", data: { content: mark } }];
  await caller.json("PUT", `/sessions/${session_id}`, { chat_message_store_state: { messages } });
  return {
    mark,
    session_id,
    thread_id,
    run_id: runs[0]?.run_id ?? "",
    message_id,
    checkpoint_id: state.checkpoint.checkpoint_id,
    workflow_checkpoint_id: named.checkpoint_id ?? "",
    assistant_id: assistant.assistant_id ?? "",
    cron_id: cron.cron_id ?? "",
    filename,
    key,
  };
}

/** As if they were something. */
export const nothing = (): Belongings => ({
  mark: randomUUID(),
  session_id: randomUUID(),
  thread_id: randomUUID(),
  run_id: randomUUID(),
  message_id: randomUUID(),
  checkpoint_id: randomUUID(),
  workflow_checkpoint_id: randomUUID(),
  assistant_id: randomUUID(),
  cron_id: randomUUID(),
  filename: `${randomUUID()}.txt`,
  key: randomUUID(),
});

/** All that its owner can see of it: the same before and after what a stranger has tried. */
export async function inspect(caller: Caller, own: Belongings): Promise<string> {
  const thread = `/threads/${own.thread_id}`;
  const paths = [
    thread,
    `${thread}/state`,
    `${thread}/history`,
    `${thread}/runs`,
    `${thread}/checkpoints`,
    `${thread}/conversation`,
    `${thread}/uploads`,
    `/assistants/${own.assistant_id}`,
    `/runs/crons/${own.cron_id}`,
    `/sessions/${own.session_id}`,
    `/store/items?namespace=n&key=${own.key}`,
  ];
  const seen = paths.map(async (path) => `${path} ${await (await caller.send("GET", path)).text()}`);
  return (await Promise.all(seen)).join("\n");
}
