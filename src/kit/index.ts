// What middlewares, tools and agents may import as `#kit`: pure functions and interfaces, no I/O.
export { type AgentThread, type AgentThreadState, createAgentThread } from "./agent-thread.ts";
export { askModel, withDeadline } from "./ask-model.ts";
export {
  type ChatMessageStore,
  fromStoredMessage,
  readStoreState,
  type StoreState,
  toStoredMessage,
  toStoreState,
} from "./chat-message-store.ts";
export {
  type Conversation,
  type ConversationState,
  conversationOf,
  type MessageState,
  type OpenConversation,
} from "./conversation.ts";
export type {
  ConversationPatch,
  ConversationStateValues,
  DeepResearchRun,
  Discovery,
  MessagePatch,
  PlanTask,
  StateValues,
} from "./conversation-values.ts";
export { cutAtLine } from "./cut-text.ts";
export { type DefinedState, defineState, type StateOf } from "./define-state.ts";
export { type DefinedTool, defineTool, type ToolContext } from "./define-tool.ts";
export { middlewareOf } from "./fuse/failure.ts";
export { toGlobMatcher } from "./glob-pattern.ts";
export { createMemoryConversations } from "./memory-conversations.ts";
export { createMemoryMessageStores } from "./memory-message-stores.ts";
export { type MergeHandler, mergeArtifacts, mergeLists, mergeViewedImages, replaceValues } from "./merge.ts";
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
export { createMemorySessions, type OpenSession, sessionOf } from "./session.ts";
export { SKIPPED_FOLDERS } from "./skipped-folders.ts";
export { withHandler } from "./state/handler-write.ts";
export { createState, type State } from "./state/state.ts";
export {
  type DefinitionJSON,
  definitionFromJSON,
  definitionToJSON,
  type HandlerRegistry,
  type StateJSON,
  stateFromJSON,
  stateToJSON,
} from "./state/state-json.ts";
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
