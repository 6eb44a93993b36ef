// The list of uploaded files that is put in front of a user's message, and how it is found again. A block counts
// only on a message that carries our mark, so text that a user types, tags included, can neither hide a file nor
// pass for a list of ours.
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { z } from "zod";
import { type UploadedFile, uploadedFileSchema } from "./thread-state.ts";

const OPEN = "<uploaded_files>\n";
const CLOSE = "\n</uploaded_files>\n\n";
const MARK = "uploads_block";
/** More than this are counted, not listed; `ls` shows them. */
const MAX_LISTED = 50;

const markSchema = z.object({
  files: z.array(uploadedFileSchema),
  /** Length of the block at the start of the message's text. */
  chars: z.number().int().positive(),
});

/**
 * `message` with the list in front of its content, which stays as it is. Same id. A former list is replaced; no
 * files, no list.
 */
export function withUploadsBlock(message: HumanMessage, files: readonly UploadedFile[]): HumanMessage {
  const { id, name, response_metadata } = message;
  const { [MARK]: _former, ...additional_kwargs } = message.additional_kwargs;
  const content = userContent(message);
  if (files.length === 0)
    return new HumanMessage({ id, name, response_metadata, additional_kwargs, content });
  const text = render(files);
  const mark: z.output<typeof markSchema> = { files: [...files], chars: text.length };
  return new HumanMessage({
    id,
    name,
    response_metadata,
    additional_kwargs: { ...additional_kwargs, [MARK]: mark },
    content: typeof content === "string" ? text + content : [{ type: "text", text }, ...content],
  });
}

/** The files that this message's list shows; none for a message without a list of ours. */
export function uploadsShownIn(message: BaseMessage): UploadedFile[] {
  return readMark(message)?.files ?? [];
}

/** A message's content as the user sent it, without our list. */
export function userContent(message: BaseMessage): BaseMessage["content"] {
  const mark = readMark(message);
  if (!mark) return message.content;
  return typeof message.content === "string" ? message.content.slice(mark.chars) : message.content.slice(1);
}

/** The text of a message as the user typed it, without our list. */
export function userText(message: BaseMessage): string {
  const content = userContent(message);
  return typeof content === "string" ? content : new HumanMessage({ content }).text;
}

function readMark(message: BaseMessage): z.output<typeof markSchema> | undefined {
  if (!HumanMessage.isInstance(message)) return undefined;
  const mark = markSchema.safeParse(message.additional_kwargs[MARK]).data;
  const block = mark && firstText(message)?.slice(0, mark.chars);
  // A client may have sent the message back without its list, or with another.
  return block?.startsWith(OPEN) && block.endsWith(CLOSE) ? mark : undefined;
}

function firstText({ content }: BaseMessage): string | undefined {
  if (typeof content === "string") return content;
  const [first] = content;
  return first?.type === "text" && typeof first.text === "string" ? first.text : undefined;
}

function render(files: readonly UploadedFile[]): string {
  const lines = files.slice(0, MAX_LISTED).map(({ filename, size, path }) => {
    return `- ${shown(filename)} (${readableSize(size)})\n  path: ${shown(path)}`;
  });
  const more = files.length - lines.length;
  if (more > 0) lines.push(`- and ${more} more in /mnt/user-data/uploads`);
  return OPEN + ["New files from the user:", ...lines].join("\n") + CLOSE;
}

/** As it is when it reads as nothing but a name; else a JSON string in which only visible characters are left. */
function shown(name: string): string {
  if (/^[\p{L}\p{N}\p{M}_.,+=@()[\]{}/ -]+$/u.test(name) && !/^\s|\s$/.test(name)) return name;
  return JSON.stringify(name).replace(/[<>&`]|[\p{C}\p{Z}]/gu, (character) =>
    character === " " ? " " : [...toUnits(character)].join(""),
  );
}

function* toUnits(character: string): Generator<string> {
  for (let index = 0; index < character.length; index++) {
    yield `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
}

function readableSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log2(bytes) / 10), units.length);
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1]}`;
}
