// The sections of docs/compatibility.md, in order.

import { keysSection, rulesSection } from "./access.ts";
import { assistantSection } from "./assistants.ts";
import { cronsSection, webhooksSection } from "./crons.ts";
import { handlersSection } from "./handlers.ts";
import { metaSection } from "./meta.ts";
import { projectSection } from "./project.ts";
import { protocolSection } from "./protocol.ts";
import type { Section } from "./row.ts";
import { runSection } from "./runs.ts";
import { settingsSection } from "./settings.ts";
import { storeSection } from "./store.ts";
import { streamSection } from "./streams.ts";
import { threadSection } from "./threads.ts";

export const SECTIONS: readonly Section[] = [
  metaSection,
  assistantSection,
  threadSection,
  runSection,
  streamSection,
  protocolSection,
  cronsSection,
  webhooksSection,
  storeSection,
  projectSection,
  settingsSection,
  keysSection,
  rulesSection,
  handlersSection,
];
