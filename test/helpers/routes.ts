// The routes that a server has, from what its router prints.
import type { FastifyInstance } from "fastify";

export interface Route {
  readonly method: string;
  readonly path: string;
}

/** Fastify prints a tree of prefixes, four characters of indentation a level. */
export function readRoutes(server: FastifyInstance): Route[] {
  const prefixes: string[] = [];
  return server
    .printRoutes()
    .split("\n")
    .flatMap((line) => {
      const [, indentation = "", prefix = "", methods = ""] =
        line.match(/^([│ ]*)[├└]── (\S*?)(?: \(([A-Z, ]+)\))?$/) ?? [];
      const depth = indentation.length / 4;
      prefixes.splice(depth, Infinity, prefix);
      const path = `/${prefixes.join("")}`.replace("//", "/");
      return methods === "" ? [] : methods.split(", ").map((method) => ({ method, path }));
    });
}
