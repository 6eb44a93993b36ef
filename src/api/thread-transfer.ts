// Routes that take a thread to another Heddle: our own, beside the LangGraph API (document 003). A file of lines of JSON, on
// disk between client and database.
import type { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { AppError } from "../errors.ts";
import { spoolBody, tooLarge } from "../sessions/spool.ts";
import type { Transfers } from "../sessions/transfers.ts";
import { threadParams } from "./schemas/common.ts";

interface TransferRoutes {
  readonly transfers: Transfers;
  readonly maxBytes: number;
}

const TYPE = "application/x-ndjson";
const config = { errors: "json" } as const;

export async function transferRoutes(
  server: FastifyInstance,
  { transfers, maxBytes }: TransferRoutes,
): Promise<void> {
  const app = server.withTypeProvider<ZodTypeProvider>();
  // Whatever it calls itself: its first line says what it is. The bytes are counted as they come.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, body, done) => done(null, body));

  app.get(
    "/threads/:thread_id/export",
    { config, schema: { params: threadParams } },
    async ({ access, params: { thread_id } }, reply) => {
      const scope = await access.check("threads", "read", { thread_id });
      const { handle, size } = await transfers.write(thread_id, {
        scope,
        owner: access.caller?.identity ?? "",
      });
      reply.headers({
        "content-type": TYPE,
        "content-length": size,
        "content-disposition": `attachment; filename="${thread_id}.ndjson"`,
      });
      return reply.send(handle.createReadStream({ start: 0 }));
    },
  );

  app.post(
    "/threads/import",
    { config, bodyLimit: Number.MAX_SAFE_INTEGER, schema: { consumes: [TYPE] } },
    async ({ access, body, headers }) => {
      if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes);
      if (body === undefined) throw new AppError("import_invalid", "The file is empty.");
      const file = await spoolBody(body as Readable, maxBytes);
      try {
        const thread = await transfers.readHeader(file);
        const { thread_id } = thread;
        const asked = { thread_id, metadata: { ...thread.metadata } };
        const scopes = [
          await access.check("threads", "create", asked),
          await access.check("threads", "update", { thread_id }),
        ];
        checkOwner(thread.metadata, asked.metadata);
        const owner = access.caller?.identity ?? "";
        return await transfers.read({ file, thread, metadata: asked.metadata, scopes, owner });
      } finally {
        await file.handle.close();
      }
    },
  );
}

/** What the rules would have changed says whose the thread is. @throws AppError forbidden */
function checkOwner(before: Record<string, unknown>, after: Record<string, unknown>): void {
  for (const [key, value] of Object.entries(before)) {
    if (JSON.stringify(after[key]) === JSON.stringify(value)) continue;
    throw new AppError(
      "forbidden",
      `The thread is somebody else's: its metadata.${key} is ${JSON.stringify(value)}.`,
    );
  }
}
