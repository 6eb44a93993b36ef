// Virtual paths for commands that run on the host: put into the command before it runs. Pure. Only the command's
// own text is translated, never a file: a path inside a script that the command runs stays virtual, and fails.
import type { SandboxFolders } from "./provider.ts";

/** Shells split, expand or quote anything else. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** Whether host paths can stand in a command without quotes, in double quotes and in single quotes alike. */
export function isPlainPath(path: string): boolean {
  return PLAIN.test(path);
}

/**
 * `/mnt/user-data` and `/tmp` where they begin a path: at the start of a word, after a quote, `=`, `:` or a bracket
 * (not in `/var/tmp`, `~/tmp`, `$X/tmp` or `http://host/tmp`), as a whole first segment (not `/tmpfile`).
 */
export function toHostCommand(command: string, folders: SandboxFolders): string {
  const userData = folders.workspace.replace(/\/workspace$/, "");
  return command.replaceAll(/(?<![\w.~/})\]*?@%+-])\/(mnt\/user-data|tmp)(?![\w.-])/g, (_, path: string) =>
    path === "tmp" ? folders.scratch : userData,
  );
}
