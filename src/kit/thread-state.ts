// The state of a thread: document 000, "ThreadState Schema". Names and shapes are the document's, because clients
// read them; objects stay open, so that a field a later version adds survives an older server.
import { z } from "zod";
import { defineState, type StateOf } from "./define-state.ts";
import { mergeArtifacts, mergeViewedImages, replaceValues } from "./merge.ts";

const path = z.string().nullish();

export const todoSchema = z.looseObject({
  id: z.string(),
  title: z.string(),
  status: z.enum(["pending", "in_progress", "completed"]),
});
export type Todo = z.output<typeof todoSchema>;

export const uploadedFileSchema = z.looseObject({
  filename: z.string(),
  /** Bytes. */
  size: z.number(),
  /** Virtual, under /mnt/user-data/uploads. */
  path: z.string(),
  /** With its dot, as in ".pdf"; empty when the name has none. */
  extension: z.string(),
});
export type UploadedFile = z.output<typeof uploadedFileSchema>;

const viewedImageSchema = z.looseObject({ base64: z.string(), mime_type: z.string() });
export type ViewedImage = z.output<typeof viewedImageSchema>;

export const ThreadState = defineState({
  /** The environment that tools run in; kept over the turns of a thread. */
  sandbox: { type: z.looseObject({ sandbox_id: z.string().nullish() }) },
  /** Where the thread's folders lie, relative to the server's data directory. */
  thread_data: { type: z.looseObject({ workspace_path: path, uploads_path: path, outputs_path: path }) },
  title: { type: z.string() },
  /** Virtual paths of the files shown to the user. */
  artifacts: { type: z.array(z.string()).default([]), handler: mergeArtifacts },
  // Lists that are written whole: a merge would bring back what was taken out.
  todos: { type: z.array(todoSchema), handler: replaceValues },
  /** Only the files that are new in this turn. */
  uploaded_files: { type: z.array(uploadedFileSchema), handler: replaceValues },
  /** From the view_image call to the next model call, by virtual path. */
  viewed_images: { type: z.record(z.string(), viewedImageSchema).default({}), handler: mergeViewedImages },
});
export type ThreadState = StateOf<typeof ThreadState>;
