// Parameters and bodies of the session routes. What a state may be is in kit/agent-thread.ts.
import { z } from "zod";
import { isSessionName, SESSION_NAME } from "../../kit/session.ts";
import { jsonObject, optional } from "./common.ts";

const name = z.string().refine(isSessionName, SESSION_NAME);

export const sessionParams = z.object({ session_id: name });

export const sessionQuery = z.object({ message_store: optional(name) });

/** Checked where it is read, which says more. */
export const sessionBody = jsonObject;
