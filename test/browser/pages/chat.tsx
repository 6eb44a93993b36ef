// The page of the browser tests: a chat with buttons for all that a user interface does with a thread. Which hook is
// behind it is decided by legacy.tsx and current.tsx.
import { type ReactNode, useState } from "react";
import { createRoot } from "react-dom/client";

interface Shown {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  /** Starts another branch with another text in place of this message. */
  readonly edit?: (text: string) => void;
}

export interface Chat {
  readonly messages: readonly Shown[];
  /** Name, arguments and result of each tool call. */
  readonly toolCalls: readonly string[];
  readonly isLoading: boolean;
  readonly interrupt: unknown;
  readonly error: unknown;
  submit(text: string): void;
  resume(answer: string): void;
  stop(): void;
}

/** Settings in the page's address: `?url=…&assistant=…`, and `thread` once there is one. */
export const settings = new URLSearchParams(location.search);

/** Kept in the address, so that a reload finds it. */
export function keepThread(threadId: string | null): void {
  if (!threadId || settings.get("thread") === threadId) return;
  settings.set("thread", threadId);
  history.replaceState(null, "", `?${settings}`);
}

export function ChatPage({ chat }: { chat: Chat }): ReactNode {
  const [text, setText] = useState("");
  return (
    <main data-loading={chat.isLoading}>
      <ol>
        {chat.messages.map(({ id, type, text: said, edit }) => (
          <li key={id} data-type={type}>
            <span>{said}</span>
            {edit && (
              <button type="button" onClick={() => edit(text)}>
                Edit
              </button>
            )}
          </li>
        ))}
      </ol>
      <ul>
        {chat.toolCalls.map((call) => (
          <li key={call}>{call}</li>
        ))}
      </ul>
      <output>{chat.interrupt === undefined ? "" : JSON.stringify(chat.interrupt)}</output>
      <pre>{chat.error === undefined || chat.error === null ? "" : String(chat.error)}</pre>
      <input value={text} onChange={(event) => setText(event.target.value)} />
      <button type="button" onClick={() => chat.submit(text)}>
        Send
      </button>
      <button type="button" onClick={() => chat.resume(text)}>
        Resume
      </button>
      <button type="button" onClick={() => chat.stop()}>
        Stop
      </button>
    </main>
  );
}

export const mount = (page: ReactNode) =>
  createRoot(document.getElementById("root") ?? document.body).render(page);
