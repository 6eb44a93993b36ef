// Follows a conversation's notifications over SSE.
import { createParser } from "eventsource-parser";

export interface Told {
  readonly type: string;
  readonly seq: number;
  readonly thread_id: string;
  readonly run_id?: string;
  readonly message_id?: string;
  readonly file_id?: string;
  readonly version?: number;
  readonly attempt?: number;
}

export interface Follower {
  readonly response: Response;
  /** All that has come. */
  readonly told: Told[];
  /** Resolves with all that has come when it is as wanted. @throws when the stream ends before */
  until(isThere: (told: readonly Told[]) => boolean): Promise<readonly Told[]>;
  /** Resolves when the server has ended the stream, or broken it off. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Returns once the stream has said where it begins. */
export async function followConversation(
  url: string,
  threadId: string,
  { lastEventId, query = "" }: { lastEventId?: number; query?: string } = {},
): Promise<Follower> {
  const gone = new AbortController();
  const response = await fetch(`${url}/threads/${threadId}/notifications${query}`, {
    headers: lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) },
    signal: gone.signal,
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  const told: Told[] = [];
  let isOver = false;
  let news = Promise.withResolvers<void>();
  const wake = () => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const parser = createParser({
    onEvent({ event, id, data }) {
      const one: Told = JSON.parse(data);
      if (event !== one.type || id !== String(one.seq)) throw new Error(`named ${event} ${id}: ${data}`);
      told.push(one);
    },
  });
  const read = async () => {
    for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      parser.feed(text);
      wake();
    }
  };
  const ended = read()
    .catch((error: unknown) => {
      if (!(error instanceof TypeError) && !gone.signal.aborted) throw error;
    })
    .finally(() => {
      isOver = true;
      wake();
    });
  const follower: Follower = {
    response,
    told,
    ended,
    async until(isThere) {
      while (!isThere(told)) {
        if (isOver) throw new Error(`the stream has ended after ${JSON.stringify(told)}`);
        await news.promise;
      }
      return told;
    },
    close: () => gone.abort(),
  };
  await follower.until(({ length }) => length > 0);
  return follower;
}
