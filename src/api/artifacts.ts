// Downloads of what the agent made: GET /threads/:id/artifacts/mnt/user-data/outputs/report.md. The content is the
// agent's, so a browser must never run it on our origin.
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { AppError } from "../errors.ts";
import type { ThreadFiles } from "../kit/thread-files.ts";
import { USER_DATA } from "../kit/thread-files.ts";
import type { Threads } from "../threads/threads.ts";
import { parseRange } from "./byte-range.ts";
import { flag, threadParams } from "./schemas/common.ts";

/** Types that a browser shows without running anything. All others are octets to be saved. */
const SHOWN: Record<string, string> = {
  ".txt": "text/plain; charset=utf-8",
  ".log": "text/plain; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
  ".csv": "text/csv; charset=utf-8",
  ".tsv": "text/tab-separated-values; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

const SAFETY = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "sandbox; default-src 'none'",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "private, no-cache",
  "accept-ranges": "bytes",
};

const params = threadParams.extend({ "*": z.string() });

export function artifactRoutes(
  server: FastifyInstance,
  { threads, files }: { threads: Threads; files: ThreadFiles },
): void {
  const app = server.withTypeProvider<ZodTypeProvider>();
  app.get(
    "/threads/:thread_id/artifacts/*",
    { config: { errors: "json" }, schema: { params, querystring: z.object({ download: flag }) } },
    async (request, reply) => {
      const path = `/${request.params["*"]}`;
      if (!/^\/mnt\/user-data\/(outputs|workspace)\//.test(path)) {
        throw new AppError(
          "path_outside",
          `Artifacts are files in ${USER_DATA}/outputs and ${USER_DATA}/workspace.`,
        );
      }
      const { thread_id } = request.params;
      await threads.get(thread_id, await request.access.check("threads", "read", { thread_id }));
      const file = await files.open(thread_id, path);
      try {
        const { name, size } = file.info;
        const range = parseRange(request.headers.range, size);
        const type = SHOWN[name.slice(name.lastIndexOf(".")).toLowerCase()];
        const attached = type === undefined || request.query.download;
        reply.headers({
          ...SAFETY,
          "content-type": type ?? "application/octet-stream",
          "content-disposition": `${attached ? "attachment" : "inline"}; filename*=UTF-8''${encodeRfc5987(name)}`,
          "content-length": range ? range.end - range.start + 1 : size,
        });
        if (range) reply.status(206).header("content-range", `bytes ${range.start}-${range.end}/${size}`);
        if (request.method === "HEAD" || size === 0) {
          await file.close();
          return reply.send();
        }
        return reply.send(file.stream(range));
      } catch (error) {
        await file.close();
        throw error;
      }
    },
  );
}

/** RFC 5987 §3.2.1: what may stand in an extended parameter value. */
const encodeRfc5987 = (text: string) =>
  encodeURIComponent(text).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
