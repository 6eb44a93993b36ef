// Runs on the model that the run asks for by `model_name`. Outermost in the chain, so that all others see the model
// that is really called; a name that is unknown ends the run before anything is done.

import { createMiddleware } from "langchain";
import { z } from "zod";
import { runSetting } from "#kit";
import type { Models } from "./models.ts";

export function createSelectModel(models: Models) {
  return createMiddleware({
    name: "select-model",
    contextSchema: z.object({ model_name: z.string().optional() }),
    beforeAgent: (_state, runtime) => {
      models.get(runSetting(runtime, "model_name"));
    },
    wrapModelCall: (request, handler) =>
      handler({ ...request, model: models.get(runSetting(request.runtime, "model_name")).chat }),
  });
}
