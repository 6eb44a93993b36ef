// A file on disk between a client and a transaction: a slow client must hold up neither the database nor the memory. It has
// no name from the beginning, so that nothing is left of it whatever happens.
import { randomUUID } from "node:crypto";
import { type FileHandle, open, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable } from "node:stream";
import { AppError } from "../errors.ts";
import { invalid } from "./thread-file.ts";

/** A line holds one value of a channel: a list of messages, for one. */
const MAX_LINE_BYTES = 128 * 1024 * 1024;
const WRITE_BYTES = 256 * 1024;

export interface Spool {
  readonly handle: FileHandle;
  readonly size: number;
}

async function openUnnamed(): Promise<FileHandle> {
  const file = path.join(tmpdir(), `heddle-${randomUUID()}`);
  const handle = await open(file, "wx+", 0o600);
  await unlink(file);
  return handle;
}

/** Each text becomes a line. The caller closes the handle. */
export async function spoolLines(lines: AsyncIterable<string>): Promise<Spool> {
  return spool(async (append) => {
    let waiting: string[] = [];
    let length = 0;
    for await (const line of lines) {
      waiting.push(line, "\n");
      length += line.length;
      if (length < WRITE_BYTES) continue;
      await append(Buffer.from(waiting.join("")));
      [waiting, length] = [[], 0];
    }
    await append(Buffer.from(waiting.join("")));
  });
}

/** @throws AppError payload_too_large, upload_incomplete */
export const spoolBody = (body: Readable, maxBytes: number): Promise<Spool> =>
  spool(async (append) => {
    let size = 0;
    try {
      for await (const chunk of body) {
        size += chunk.length;
        if (size > maxBytes) throw tooLarge(maxBytes);
        await append(chunk);
      }
    } catch (cause) {
      if (cause instanceof AppError || !body.errored) throw cause;
      throw new AppError("upload_incomplete", "The file ended before all of it had arrived.", { cause });
    }
  });

export const tooLarge = (maxBytes: number) =>
  new AppError(
    "payload_too_large",
    `The file is larger than ${maxBytes} bytes; MAX_IMPORT_MB sets the limit.`,
  );

async function spool(fill: (append: (chunk: Buffer) => Promise<void>) => Promise<void>): Promise<Spool> {
  const handle = await openUnnamed();
  let size = 0;
  try {
    await fill(async (chunk) => {
      for (let start = 0; start < chunk.length; ) {
        const { bytesWritten } = await handle.write(chunk, start, chunk.length - start, size);
        start += bytesWritten;
        size += bytesWritten;
      }
    });
    return { handle, size };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The lines that are not empty, from the first, with their numbers. @throws AppError import_invalid for one too long */
export async function* readLines({ handle, size }: Spool): AsyncGenerator<{ text: string; number: number }> {
  let rest: Buffer[] = [];
  let held = 0;
  let number = 0;
  const take = (last: Buffer) => {
    number++;
    const text = Buffer.concat([...rest, last]).toString("utf8");
    [rest, held] = [[], 0];
    return { text, number };
  };
  for (let position = 0; position < size; ) {
    const { buffer, bytesRead } = await handle.read(
      Buffer.allocUnsafe(WRITE_BYTES),
      0,
      WRITE_BYTES,
      position,
    );
    if (bytesRead === 0) break;
    position += bytesRead;
    let start = 0;
    const chunk = buffer.subarray(0, bytesRead);
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const line = take(chunk.subarray(start, end));
      if (line.text.trim() !== "") yield line;
      start = end + 1;
    }
    rest.push(chunk.subarray(start));
    held += chunk.length - start;
    if (held > MAX_LINE_BYTES)
      throw invalid(`Line ${number + 1} of the file is longer than ${MAX_LINE_BYTES} bytes.`);
  }
  const line = take(Buffer.alloc(0));
  if (line.text.trim() !== "") yield line;
}
