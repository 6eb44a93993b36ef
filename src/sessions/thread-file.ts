// The form of an exported thread: a line of JSON for each thing of it, so that neither side ever has all of it in memory. The
// first line says what it is, the last one how many came before.
import { z } from "zod";
import type { BlobRow, CheckpointRow, WriteRow } from "../db/checkpoint-rows.sql.ts";
import { AppError } from "../errors.ts";
import { conversationPatchSchema } from "../kit/conversation-values.ts";

const VERSION = 1;

/** Three levels for each of the state's, as the serializer writes them, and some around them. */
const MAX_DEPTH = 1_600;

const plainText = z
  .string()
  .refine(
    (text) => !text.includes("\0") && text.isWellFormed(),
    "has a character that PostgreSQL cannot store",
  );
const id = z.guid();
const versions = z.record(plainText, z.union([plainText, z.number()]));
const object = z.record(z.string(), z.unknown());

/** A value as it is stored: JSON as text, bytes as base64, or none. */
const value = {
  type: z.enum(["json", "bytes", "empty"]),
  text: z.string().optional(),
  base64: z.base64().optional(),
};

const header = z.looseObject({
  heddle: z.literal("thread"),
  version: z.literal(VERSION),
  thread: z.looseObject({ thread_id: id, metadata: object, config: object }),
});

const line = z.union([
  z.strictObject({
    checkpoint: z.strictObject({
      checkpoint_ns: plainText,
      checkpoint_id: id,
      parent_checkpoint_id: id.nullable(),
      type: plainText.nullable(),
      checkpoint: z.looseObject({
        v: z.number(),
        id,
        channel_versions: versions.optional(),
        versions_seen: z.record(plainText, versions).optional(),
      }),
      metadata: object,
    }),
  }),
  z.strictObject({
    blob: z.strictObject({ checkpoint_ns: plainText, channel: plainText, version: plainText, ...value }),
  }),
  z.strictObject({
    write: z.strictObject({
      checkpoint_ns: plainText,
      checkpoint_id: id,
      task_id: plainText,
      idx: z.int().min(-1_000).max(2_147_483_647),
      channel: plainText,
      ...value,
    }),
  }),
  z.strictObject({
    session: z.strictObject({
      session_id: plainText.min(1).max(255),
      service_thread_id: plainText.max(255).nullable(),
    }),
  }),
  z.strictObject({ message: object }),
  z.strictObject({ conversation: z.strictObject({ values: conversationPatchSchema }) }),
  z.strictObject({ end: z.strictObject({ lines: z.int() }) }),
]);

export type ThreadHeader = z.output<typeof header>["thread"];
export type ThreadLine = z.output<typeof line>;

export const writeHeader = (thread: object) => JSON.stringify({ heddle: "thread", version: VERSION, thread });

const toValue = (type: string | null, blob: Buffer | null) =>
  blob === null
    ? { type: type ?? "empty" }
    : type === "bytes"
      ? { type, base64: blob.toString("base64") }
      : { type: type ?? "json", text: blob.toString("utf8") };

export const writeCheckpoint = ({ metadata, ...row }: CheckpointRow) =>
  JSON.stringify({ checkpoint: { ...row, metadata: JSON.parse(metadata) } });

export const writeBlob = ({ checkpoint_ns, channel, newVersion, type, blob }: BlobRow) =>
  JSON.stringify({ blob: { checkpoint_ns, channel, version: newVersion, ...toValue(type, blob) } });

export const writeWrite = ({ type, blob, ...row }: WriteRow) =>
  JSON.stringify({ write: { ...row, ...toValue(type, blob) } });

/** @throws AppError import_invalid */
export function readHeader(text: string): ThreadHeader {
  const parsed = parse(text, 1);
  const result = header.safeParse(parsed);
  if (result.success) return result.data.thread;
  const isOther =
    typeof parsed !== "object" || parsed === null || !("heddle" in parsed) || parsed.heddle !== "thread";
  if (isOther) throw invalid("The file is no exported thread: its first line does not say so.");
  const [issue] = result.error.issues;
  throw invalid(`Line 1 of the file is broken: ${issue?.path.join(".")}: ${issue?.message}.`);
}

/** @throws AppError import_invalid, which names the line */
export function readLine(text: string, number: number): ThreadLine {
  const parsed = parse(text, number);
  const result = line.safeParse(parsed);
  if (result.success) return result.data;
  const kind = typeof parsed === "object" && parsed !== null ? Object.keys(parsed)[0] : undefined;
  // Of a union's issues those of the member that the line wants to be.
  const issues = result.error.issues.flatMap((issue) => ("errors" in issue ? issue.errors.flat() : [issue]));
  const issue = issues.find(({ path }) => path.length > 1 && path[0] === kind) ?? issues[0];
  const where = issue && issue.path[0] === kind ? issue.path.join(".") : (kind ?? "it");
  throw invalid(`Line ${number} of the file is broken: ${where}: ${issue?.message}.`);
}

type StoredValue = {
  readonly type: string;
  readonly text?: string | undefined;
  readonly base64?: string | undefined;
};

/** The bytes of a value. @throws AppError import_invalid when no reader could bear them */
export function readValue({ type, text, base64 }: StoredValue, number: number): Buffer | null {
  if (type === "empty") return null;
  if (type === "bytes" && base64 !== undefined) return Buffer.from(base64, "base64");
  if (type === "bytes" || text === undefined || !text.isWellFormed()) {
    throw invalid(`Line ${number} of the file is broken: it has no value of the type ${type}.`);
  }
  parse(text, number);
  return Buffer.from(text);
}

function parse(text: string, number: number): unknown {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    const problem =
      number === 1 ? "The file is no exported thread: its first line" : `Line ${number} of the file`;
    throw invalid(`${problem} is not JSON.`, cause);
  }
  if (isTooDeep(parsed)) throw invalid(`Line ${number} of the file is nested too deep.`);
  return parsed;
}

/** With a stack of its own: what it looks for would overflow a recursive walk. */
function isTooDeep(root: unknown): boolean {
  const places: [unknown, number][] = [[root, 1]];
  for (let place = places.pop(); place; place = places.pop()) {
    const [found, depth] = place;
    if (typeof found !== "object" || found === null) continue;
    if (depth > MAX_DEPTH) return true;
    for (const child of Object.values(found)) places.push([child, depth + 1]);
  }
  return false;
}

export const invalid = (message: string, cause?: unknown) =>
  new AppError("import_invalid", message, { cause });
