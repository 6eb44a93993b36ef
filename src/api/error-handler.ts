// The one place that turns errors into responses. The LangGraph routes answer plain text, as the official server does
// and its SDK expects; our own routes, marked with `config: { errors: "json" }`, answer an object.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { hasZodFastifySchemaValidationErrors } from "fastify-type-provider-zod";
import { AppError, type ErrorCode } from "../errors.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** How this route tells errors; plain text by default. */
    errors?: "json";
  }
}

// What Fastify and its plugins refuse by themselves.
const KNOWN: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: [
    "payload_too_large",
    "The body is larger than the limit; MAX_BODY_MB sets it.",
  ],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["unsupported_media_type", "The content type must be application/json."],
  FST_ERR_CTP_EMPTY_TYPE: ["unsupported_media_type", "The content type must be application/json."],
  FST_INVALID_MULTIPART_CONTENT_TYPE: [
    "unsupported_media_type",
    "The content type must be multipart/form-data.",
  ],
  FST_ERR_BAD_URL: ["invalid_request", "The path is not percent-encoded UTF-8."],
  FST_ERR_MAX_PARAM_LENGTH: ["invalid_request", "A part of the path is too long."],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ["invalid_request", "The content length is not that of the body."],
};

export function handleErrors(app: FastifyInstance): void {
  app.setErrorHandler((error, request, reply) => sendError(toAppError(error as Error), request, reply));
  app.setNotFoundHandler((request, reply) =>
    sendError(
      new AppError("route_not_found", `There is no ${request.method} ${request.url.split("?")[0]}`),
      request,
      reply,
    ),
  );
}

/** For what Fastify refuses before it looks for a route. */
export const handleUnrouted = (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void =>
  sendError(toAppError(error), request, reply);

/** Answers with an error; a server error is logged with its cause. */
function sendError(error: AppError, request: FastifyRequest, reply: FastifyReply): void {
  if (error.status >= 500) request.log.error(error.cause ?? error, error.message);
  if (error.status === 503) reply.header("retry-after", "1");
  reply.status(error.status).headers(error.headers);
  if (request.routeOptions.config.errors === "json") {
    const { code, message, details } = error;
    reply.send({ error: { code, message, ...(details === undefined ? {} : { details }) } });
  } else {
    if (!("content-type" in error.headers)) reply.type("text/plain; charset=utf-8");
    reply.send(error.message);
  }
}

function toAppError(error: Error & Partial<FastifyError>): AppError {
  if (error instanceof AppError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return toValidationError(error);
  const known = KNOWN[error.code ?? ""];
  if (known) return new AppError(known[0], known[1], { cause: error });
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return new AppError("invalid_request", error.message, { cause: error });
  }
  return new AppError("internal", "Internal Server Error", { cause: error });
}

function toValidationError(error: {
  validation: readonly object[];
  validationContext?: string | undefined;
}): AppError {
  const where = error.validationContext ?? "request";
  const problems = error.validation.map((problem) => {
    const { instancePath = "", message = "is not valid" } = problem as {
      instancePath?: string;
      message?: string;
    };
    return `${where}${instancePath.replace(/^\/$/, "").replaceAll("/", ".")}: ${message}`;
  });
  return new AppError("invalid_request", problems.join("\n"), { details: problems });
}
