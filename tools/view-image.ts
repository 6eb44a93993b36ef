// `view_image`: puts an image into the state, from where the view-image middleware shows it to the model once. The
// tool's message holds no image data: messages are kept for good.
import { fileTypeFromBuffer } from "file-type";
import { z } from "zod";
import { defineTool, type ThreadFiles, ThreadState } from "#kit";

interface ViewImageOptions {
  readonly files: ThreadFiles;
  readonly maxBytes?: number;
}

/** What models with vision take, by what the file's first bytes say. */
const SHOWN_AS: Readonly<Record<string, string>> = {
  "image/png": "image/png",
  // A PNG that moves; shown as the PNG it also is.
  "image/apng": "image/png",
  "image/jpeg": "image/jpeg",
  "image/gif": "image/gif",
  "image/webp": "image/webp",
};

export function createViewImageTool({ files, maxBytes = 20 * 1024 * 1024 }: ViewImageOptions) {
  return defineTool({
    name: "view_image",
    description:
      "Shows you an image: PNG, JPEG, GIF or WebP, up to 20 MB. You see it with your next message, once; say " +
      "what you need to remember of it.",
    schema: z.object({ image_path: z.string().describe("An image under /mnt/user-data.") }),
    state: ThreadState,
    outputsToState: { viewed_images: { source: "images" } },
    async run({ image_path }, { threadId }) {
      const { path } = await infoOf(files, threadId, image_path);
      const bytes = await files.read(threadId, path, { maxBytes });
      // By content, not by name: a wrong extension is common, and a model is sent what the bytes are.
      const type = await fileTypeFromBuffer(bytes);
      const mime_type = SHOWN_AS[type?.mime ?? ""];
      if (mime_type === undefined) {
        const what = type === undefined ? "no known kind of image" : type.mime;
        throw new Error(`${path} is ${what}; only PNG, JPEG, GIF and WebP can be shown.`);
      }
      const image = { base64: bytes.toString("base64"), mime_type };
      return { path, mime_type, size: bytes.length, images: { [path]: image } };
    },
    toContent: ({ path, mime_type, size }) => `${path} (${mime_type}, ${size} bytes) is shown to you now.`,
  });
}

// The state's key is the path as it is written without doubled slashes, so that one image has one key.
async function infoOf(files: ThreadFiles, threadId: string, path: string) {
  const info = await files.stat(threadId, path);
  if (info === undefined) throw new Error(`There is no file at ${path}.`);
  return info;
}
