// Somebody else's project in a folder of its own: a langgraph.json, TypeScript as such projects write it, and its own
// node_modules with its own copies of LangGraph.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const MODULES = path.resolve(import.meta.dirname, "../../node_modules");
const COPIED = new Set(["@langchain/langgraph", "@langchain/core", "@langchain/langgraph-checkpoint"]);

export interface ForeignProject {
  readonly folder: string;
  /** Its langgraph.json. */
  readonly file: string;
  remove(): void;
}

/** @param files their content by path; what is no text is written as JSON */
export function makeForeignProject(files: Record<string, unknown>): ForeignProject {
  const folder = mkdtempSync(path.join(tmpdir(), "heddle-foreign-"));
  const modules = path.join(folder, "node_modules");
  mkdirSync(path.join(modules, "@langchain"), { recursive: true });
  const installed = readdirSync(MODULES).filter((name) => !name.startsWith(".") && name !== "@langchain");
  const langchain = readdirSync(path.join(MODULES, "@langchain")).map((name) => `@langchain/${name}`);
  for (const name of [...installed, ...langchain]) {
    const [from, to] = [path.join(MODULES, name), path.join(modules, name)];
    if (COPIED.has(name)) cpSync(from, to, { recursive: true });
    else symlinkSync(from, to);
  }
  for (const [name, content] of Object.entries(files)) {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  }
  return {
    folder,
    file: path.join(folder, "langgraph.json"),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
