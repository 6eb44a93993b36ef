// Speaks to the routes of named checkpoints as a client does.
import type { Restored } from "../../src/checkpoints/checkpoints.ts";
import type { CheckpointView } from "../../src/checkpoints/workflow-checkpoint.ts";

export function createCaller(url: string) {
  const send = async (method: string, path: string, body?: object) => {
    const response = await fetch(url + path, {
      method,
      ...(body ? { headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
  };
  const expectOk = async (method: string, path: string, body?: object) => {
    const answer = await send(method, path, body);
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
    return answer.body;
  };
  return {
    send,
    create: (threadId: string, body: object = {}): Promise<CheckpointView> =>
      expectOk("POST", `/threads/${threadId}/checkpoints`, body),
    list: (threadId: string, query = ""): Promise<CheckpointView[]> =>
      expectOk("GET", `/threads/${threadId}/checkpoints${query}`),
    get: (threadId: string, id: string): Promise<CheckpointView> =>
      expectOk("GET", `/threads/${threadId}/checkpoints/${id}`),
    restore: (threadId: string, id: string, body: object = {}): Promise<Restored> =>
      expectOk("POST", `/threads/${threadId}/checkpoints/${id}/restore`, body),
  };
}
