// What middlewares, tools and agents may import as `#kit`: pure functions and interfaces, no I/O.
export type {
  ExecuteOptions,
  ExecuteResult,
  Sandbox,
  SandboxDescription,
  Sandboxes,
  SandboxState,
} from "./sandbox.ts";
export type {
  FileInfo,
  Folder,
  OpenFile,
  ThreadDataState,
  ThreadFiles,
  WriteOptions,
} from "./thread-files.ts";
export { FOLDERS, USER_DATA } from "./thread-files.ts";
