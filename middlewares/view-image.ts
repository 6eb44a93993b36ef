// Shows the images that view_image has loaded to the model, in the next model call and in no other (document 000,
// "viewed_images"). They are put into that request alone, so no image ever gets into the messages; the key is
// cleared with the reply, so that a call which fails leaves them for the next one.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { createMiddleware, type ModelRequest } from "langchain";
import { ThreadState, type ViewedImage } from "#kit";

interface ViewImageOptions {
  /** Whether this model can see. Without eyes it is not offered view_image either. */
  readonly hasVision: (model: ModelRequest["model"]) => boolean;
}

export function createViewImage({ hasVision }: ViewImageOptions) {
  return createMiddleware({
    name: "view-image",
    stateSchema: ThreadState.pick("viewed_images").schema,
    wrapModelCall: async (request, handler) => {
      const sees = hasVision(request.model);
      const tools = sees ? request.tools : request.tools.filter((tool) => tool.name !== "view_image");
      const images = Object.entries(request.state.viewed_images ?? {});
      if (images.length === 0) return handler({ ...request, tools });
      const withLast = async (last: HumanMessage) =>
        handler({ ...request, tools, messages: [...request.messages, last] });
      const reply = sees
        ? await withLast(toImages(images)).catch((error: unknown) => {
            if (!isRefused(error)) throw error;
            return withLast(toNotice(images, "the model endpoint refused the request with them"));
          })
        : await withLast(toNotice(images, "this model reads no images"));
      // The reply itself is written by the agent; anything else is a structured response, which ends it.
      return AIMessage.isInstance(reply) ? new Command({ update: { viewed_images: {} } }) : reply;
    },
  });
}

type Images = readonly (readonly [path: string, image: ViewedImage])[];

function toImages(images: Images): HumanMessage {
  const content = images.flatMap(([path, { base64, mime_type }]) => [
    { type: "text", text: `The image at ${JSON.stringify(path)}:` },
    { type: "image_url", image_url: { url: `data:${mime_type};base64,${base64}` } },
  ]);
  return new HumanMessage({ content });
}

function toNotice(images: Images, why: string): HumanMessage {
  const paths = images.map(([path]) => JSON.stringify(path)).join(", ");
  return new HumanMessage(`You cannot be shown ${paths}: ${why}.`);
}

/**
 * Whether the endpoint found fault with the request: an image may be broken, too large or of a kind that it does not
 * know. It would find the same in every later call, since images stay until a call succeeds.
 */
function isRefused(error: unknown): boolean {
  const status = error instanceof Error && "status" in error ? error.status : undefined;
  return status === 400 || status === 413 || status === 415 || status === 422;
}
