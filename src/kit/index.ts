// What middlewares, tools and agents may import as `#kit`: pure functions and interfaces, no I/O.
export { askModel, withDeadline } from "./ask-model.ts";
export { cutAtLine } from "./cut-text.ts";
export { type DefinedState, defineState, type StateOf, type StateValues } from "./define-state.ts";
export { type DefinedTool, defineTool, type ToolContext, type ToolUpdate } from "./define-tool.ts";
export { middlewareOf } from "./fuse/failure.ts";
export { toGlobMatcher } from "./glob-pattern.ts";
export { type MergeHandler, mergeArtifacts, mergeLists, mergeViewedImages, replace } from "./merge.ts";
export { fuseMiddlewares } from "./middleware.ts";
export { runSetting, threadIdOf } from "./run-settings.ts";
export type {
  ExecuteOptions,
  ExecuteResult,
  Sandbox,
  SandboxDescription,
  Sandboxes,
  SandboxState,
} from "./sandbox.ts";
export { SKIPPED_FOLDERS } from "./skipped-folders.ts";
export type {
  FileInfo,
  Folder,
  ListOptions,
  OpenFile,
  ThreadDataState,
  ThreadFiles,
  WriteOptions,
} from "./thread-files.ts";
export { FOLDERS, USER_DATA } from "./thread-files.ts";
export { ThreadState, type Todo, todoSchema, type UploadedFile, type ViewedImage } from "./thread-state.ts";
export { faultOfTurn, type TurnFault } from "./turn-faults.ts";
export { uploadsShownIn, userContent, userText, withUploadsBlock } from "./uploads-block.ts";
export { toWholeTurn } from "./whole-turn.ts";
