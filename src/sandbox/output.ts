// Collects a command's output in bounded memory, however much there is: the beginning and the end are kept, and
// the middle gives way to a note.
import type { PathMask } from "./path-mask.ts";

interface Output {
  readonly output: string;
  readonly truncated: boolean;
}

export interface OutputCapture {
  add(chunk: Uint8Array): void;
  finish(): Output;
}

/** The same bytes give the same text, in whatever chunks they come. `maxChars` does not count the note. */
export function captureOutput(options: { maxChars: number; mask: PathMask }): OutputCapture {
  const { maxChars, mask } = options;
  // Three bytes of UTF-8 give at least one character; the rest is what beside the cut may be half a path.
  const keep = 3 * (maxChars + 2 * mask.longest);
  const head: Uint8Array[] = [];
  let headBytes = 0;
  let tail: Uint8Array[] = [];
  let tailBytes = 0;
  let total = 0;

  function addToTail(chunk: Uint8Array): void {
    tail.push(chunk);
    tailBytes += chunk.byteLength;
    // In steps of twice the bound, so that each byte is copied once or twice and not with every chunk.
    if (tailBytes > 2 * keep) {
      const kept = Buffer.concat(tail).subarray(-keep);
      tail = [Buffer.from(kept)];
      tailBytes = keep;
    }
  }

  return {
    add(chunk) {
      total += chunk.byteLength;
      const room = keep - headBytes;
      if (room > 0) {
        const first = chunk.subarray(0, room);
        head.push(Buffer.from(first));
        headBytes += first.byteLength;
        if (chunk.byteLength > room) addToTail(chunk.subarray(room));
      } else {
        addToTail(chunk);
      }
    },
    finish() {
      const end = Buffer.concat(tail).subarray(-keep);
      if (headBytes + end.byteLength === total) {
        const whole = mask.apply(toText(Buffer.concat([...head, end])));
        if (whole.length <= maxChars) return { output: whole, truncated: false };
        return cut(whole, whole, Buffer.byteLength(whole), maxChars);
      }
      const start = mask.apply(toText(Buffer.concat(head))).slice(0, -mask.longest);
      return cut(start, mask.apply(toText(end)).slice(mask.longest), total, maxChars);
    },
  };
}

function cut(start: string, end: string, totalBytes: number, maxChars: number): Output {
  const half = Math.floor(maxChars / 2);
  // toWellFormed mends a pair that the cut has split.
  const first = start.slice(0, maxChars - half).toWellFormed();
  const last = half === 0 ? "" : end.slice(-half).toWellFormed();
  const left = totalBytes - Buffer.byteLength(first) - Buffer.byteLength(last);
  return { output: `${first}\n\n[... ${left} bytes of output left out ...]\n\n${last}`, truncated: true };
}

// PostgreSQL stores no NUL, and output becomes part of messages.
function toText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replaceAll("\0", "\ufffd");
}
