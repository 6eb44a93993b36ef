// Routes of a thread's uploads: our own, beside the LangGraph API.
import fastifyMultipart from "@fastify/multipart";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { AppError } from "../errors.ts";
import { toSafeFileName } from "../files/file-name.ts";
import { type FileInfo, type ThreadFiles, USER_DATA } from "../kit/thread-files.ts";
import type { Threads } from "../threads/threads.ts";
import { threadParams } from "./schemas/common.ts";

interface UploadRoutes {
  readonly threads: Threads;
  readonly files: ThreadFiles;
  readonly maxFileBytes: number;
  readonly maxFiles: number;
}

const FOLDER = `${USER_DATA}/uploads`;
const fileParams = threadParams.extend({ filename: z.string().min(1) });
const config = { errors: "json" } as const;

export async function uploadRoutes(server: FastifyInstance, options: UploadRoutes): Promise<void> {
  const { threads, files, maxFileBytes, maxFiles } = options;
  await server.register(fastifyMultipart, {
    limits: { files: maxFiles, fileSize: maxFileBytes, fields: 20, parts: maxFiles + 20, headerPairs: 50 },
    // We count the bytes ourselves: a file that is too large must leave nothing behind.
    throwFileSizeLimit: false,
    // The name as it was sent: a path in it is refused, not shortened to something the client did not mean.
    preservePath: true,
  });
  const app = server.withTypeProvider<ZodTypeProvider>();
  const json = { params: threadParams };
  /** @throws AppError thread_not_found, forbidden */
  const find = async ({ access }: FastifyRequest, thread_id: string, action: "read" | "update") => {
    await threads.get(thread_id, await access.check("threads", action, { thread_id }));
    return thread_id;
  };

  app.post(
    "/threads/:thread_id/uploads",
    { config, schema: json, bodyLimit: maxFileBytes * maxFiles },
    async (request) => {
      const thread_id = await find(request, request.params.thread_id, "update");
      const written: FileInfo[] = [];
      try {
        for await (const part of request.files()) {
          if (part.fieldname !== "files") {
            part.file.resume();
            throw new AppError(
              "invalid_request",
              `Files come in the field "files", not "${part.fieldname}".`,
            );
          }
          const path = `${FOLDER}/${toSafeFileName(part.filename)}`;
          const content = untilTooLarge(part.file, maxFileBytes, part.filename);
          written.push(await files.write(thread_id, path, content, { overwrite: false }));
        }
      } catch (error) {
        // All of the request or nothing.
        for (const { path } of written) await files.remove(thread_id, path);
        throw toUploadError(error, options);
      }
      if (written.length === 0) {
        throw new AppError(
          "invalid_request",
          'The request has no file. Send one or more in the field "files".',
        );
      }
      return { files: written.map(toUpload) };
    },
  );

  app.get("/threads/:thread_id/uploads", { config, schema: json }, async (request) => {
    const thread_id = await find(request, request.params.thread_id, "read");
    const found = await files.list(thread_id, FOLDER);
    return { files: found.filter((file) => file.type === "file").map(toUpload) };
  });

  app.delete(
    "/threads/:thread_id/uploads/:filename",
    { config, schema: { params: fileParams } },
    async (request, reply) => {
      const { filename } = request.params;
      const thread_id = await find(request, request.params.thread_id, "update");
      const removed = await files.remove(thread_id, `${FOLDER}/${toSafeFileName(filename)}`);
      if (!removed) throw new AppError("file_not_found", `The thread has no upload "${filename}".`);
      return reply.status(204).send();
    },
  );
}

/** As the state's `uploaded_files` shows a file (document 000). */
function toUpload({ name, size, path }: FileInfo) {
  const dot = name.lastIndexOf(".");
  return { filename: name, size, path, extension: dot > 0 ? name.slice(dot) : "" };
}

async function* untilTooLarge(
  file: AsyncIterable<Uint8Array> & { truncated?: boolean },
  limit: number,
  name: string,
): AsyncGenerator<Uint8Array> {
  yield* file;
  // The parser stops at the limit and says so; it does not throw.
  if (file.truncated) throw tooLarge(name, limit);
}

const tooLarge = (name: string, limit: number) =>
  new AppError(
    "payload_too_large",
    `The file "${name}" is larger than ${limit} bytes; MAX_UPLOAD_MB sets the limit.`,
    {
      details: { max_bytes: limit },
    },
  );

function toUploadError(error: unknown, { maxFiles }: UploadRoutes): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "FST_FILES_LIMIT" || code === "FST_PARTS_LIMIT") {
    return new AppError("payload_too_large", `One request may have ${maxFiles} files.`, {
      details: { max_files: maxFiles },
    });
  }
  // The parser's own errors have no code.
  const message = error instanceof Error ? error.message : "";
  if (message === "Multipart: Boundary not found") {
    return new AppError("unsupported_media_type", "The content type must name the boundary of its parts.", {
      cause: error,
    });
  }
  if (message.includes("end of multipart data")) {
    return new AppError("upload_incomplete", "The upload ended before all of it had arrived.", {
      cause: error,
    });
  }
  return error;
}
