// Imports the files that langgraph.json names. Those of Heddle's own package as they are: Node strips their types, which
// costs nothing at the start. Those of any other project through tsx, which takes what TypeScript projects are used to
// (`./x.js` that means `./x.ts`, no extension, enums, tsconfig `paths`, JSX). Loading tsx takes 60 to 140 ms, so it is
// only loaded for them; trying Node first and tsx when that fails would run some files twice.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { findPackageJSON } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { batchWhenAsked } from "./batched-store.ts";
import { isGraph, isObject } from "./graph.ts";
import { shareLanggraph } from "./shared-packages.ts";

export type Module = Record<string, unknown>;

export interface Importer {
  /** What the file of an absolute path exports. All files of one importer share their modules. */
  import(file: string): Promise<Module>;
  /** What was imported stays; what it imports later is no longer taken through tsx. */
  close(): Promise<void>;
}

interface Loader {
  import(file: string): Promise<Module>;
  close(): Promise<void>;
}

const OWN_PACKAGE = path.resolve(import.meta.dirname, "../../package.json");

/** @param folder where the project's tsconfig.json is looked for, and above it */
export function createImporter(folder: string): Importer {
  let loader: Promise<Loader> | undefined;
  return {
    async import(file) {
      if (isOwn(file)) return import(pathToFileURL(file).href);
      loader ??= openLoader(folder);
      return exportsOf(await (await loader).import(file));
    },
    async close() {
      await (await loader)?.close();
    },
  };
}

const isOwn = (file: string) => findPackageJSON(pathToFileURL(file).href) === OWN_PACKAGE;

/** A CommonJS file comes with names beside those that it exports, and without some that it does. */
function exportsOf(module: Module): Module {
  const common = module["module.exports"];
  if (!isObject(common)) return module;
  return isGraph(common) ? { default: common } : common;
}

async function openLoader(folder: string): Promise<Loader> {
  const [esm, commonJs] = await Promise.all([import("tsx/esm/api"), import("tsx/cjs/api")]);
  // In a namespace: what the server itself imports later does not pass through tsx.
  const namespace = `heddle-${randomUUID()}`;
  // Without "type": "module" in its package.json, a project's .ts files are CommonJS.
  const required = commonJs.register({ namespace });
  const imported = esm.register({ namespace, tsconfig: findTsconfig(folder) ?? false });
  // After tsx, so that it is asked before tsx.
  const unshare = shareLanggraph();
  batchWhenAsked();
  return {
    import: (file) => imported.import(pathToFileURL(file).href, import.meta.url),
    async close() {
      unshare();
      await imported.unregister();
      required.unregister();
    },
  };
}

function findTsconfig(folder: string): string | undefined {
  const file = path.join(folder, "tsconfig.json");
  if (existsSync(file)) return file;
  const above = path.dirname(folder);
  return above === folder ? undefined : findTsconfig(above);
}
