// The graph "team" of langgraph.json: made for each run from what its configuration says of the team.
import { loadConfig } from "../../config.ts";
import { createModels } from "../models.ts";
import { tools } from "../workplace.ts";
import { createTeam } from "./create-team.ts";
import { readTeamSettings } from "./settings.ts";

const models = createModels(loadConfig().models);

/** @throws Error naming the setting that is wrong */
export const graph = ({ configurable }: { configurable?: unknown } = {}) =>
  createTeam({ models, tools }, readTeamSettings(configurable));

export { close } from "../workplace.ts";
