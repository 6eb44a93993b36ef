// Who may import whom (docs/architecture.md has the table in words): static imports form a tree, types included.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "..");

/** Part → the parts it may import. "errors" and its like are single files. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  errors: [],
  config: ["errors"],
  kit: ["errors"],
  db: ["errors"],
  graphs: ["errors"],
  files: ["kit", "errors"],
  sandbox: ["kit", "errors"],
  events: ["db", "kit", "errors"],
  auth: ["graphs", "errors"],
  sessions: ["db", "graphs", "kit", "threads", "errors"],
  store: ["db", "graphs", "errors"],
  webhooks: ["db", "errors"],
  conversations: ["db", "events", "kit", "errors"],
  assistants: ["db", "graphs", "errors"],
  threads: ["db", "graphs", "files", "errors"],
  checkpoints: ["db", "graphs", "threads", "errors"],
  runs: ["db", "graphs", "events", "assistants", "threads", "webhooks", "errors"],
  crons: ["db", "assistants", "threads", "runs", "errors"],
  envelope: ["db", "events", "errors"],
  protocol: ["db", "events", "assistants", "threads", "runs", "errors"],
  api: [
    "auth",
    "assistants",
    "threads",
    "runs",
    "crons",
    "conversations",
    "sessions",
    "checkpoints",
    "store",
    "protocol",
    "envelope",
    "events",
    "graphs",
    "files",
    "kit",
    "errors",
  ],
  wire: [
    "config",
    "kit",
    "db",
    "graphs",
    "files",
    "sandbox",
    "events",
    "auth",
    "store",
    "webhooks",
    "assistants",
    "threads",
    "runs",
    "crons",
    "conversations",
    "sessions",
    "checkpoints",
    "protocol",
    "envelope",
    "api",
    "errors",
  ],
  app: ["config", "db", "graphs", "wire", "errors"],
  main: ["app", "config", "db", "errors"],
  middlewares: ["kit"],
  tools: ["kit"],
  agents: ["middlewares", "tools", "kit", "sandbox", "files", "config", "errors"],
};

interface Source {
  readonly file: string;
  readonly part: string;
  readonly text: string;
  /** Files of ours that it imports, relative to the root. */
  readonly imports: readonly string[];
}

const sources = ["src", "middlewares", "tools"].flatMap((folder) =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .map((name) => path.join(folder, name))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map(read),
);

function read(file: string): Source {
  const text = readFileSync(path.join(ROOT, file), "utf8");
  const specifiers = [
    ...text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^"';]*?\bfrom\s*["']([^"']+)["']/g),
  ].map((match) => match[1]);
  const dynamic = [...text.matchAll(/\b(?:import|new URL)\(\s*["'](\.[^"']+\.ts)["']/g)].map(
    (match) => match[1],
  );
  const bare = [...text.matchAll(/(?:^|\n)import\s*["']([^"']+)["']/g)].map((match) => match[1]);
  const imports = [...specifiers, ...dynamic, ...bare].flatMap((specifier) => {
    if (specifier === "#kit") return ["src/kit/index.ts"];
    if (!specifier?.startsWith(".")) return [];
    return [path.relative(ROOT, path.resolve(ROOT, path.dirname(file), specifier))];
  });
  return { file, part: partOf(file), text, imports };
}

/** `src/runs/x.ts` is of "runs", `src/app.ts` is "app", `tools/bash.ts` is of "tools". */
function partOf(file: string): string {
  const [top, second] = file.split(path.sep);
  return top === "src" ? (second ?? "").replace(/\.ts$/, "") : (top ?? "");
}

describe("imports", () => {
  it("are found at all", () => {
    expect(sources.length).toBeGreaterThan(50);
    expect(sources.flatMap((source) => source.imports).length).toBeGreaterThan(150);
  });

  it("go only where the table allows", () => {
    const forbidden = sources.flatMap(({ file, part, imports }) =>
      imports
        .filter((target) => partOf(target) !== part && !(MAY_IMPORT[part] ?? []).includes(partOf(target)))
        .map((target) => `${file} imports ${target}`),
    );
    expect(forbidden).toEqual([]);
  });

  it("of every part are in the table", () => {
    expect(
      [...new Set(sources.map((source) => source.part))].filter((part) => !(part in MAY_IMPORT)),
    ).toEqual([]);
  });

  it("form no circle", () => {
    const byFile = new Map(sources.map((source) => [source.file, source]));
    const done = new Set<string>();
    const visit = (file: string, above: readonly string[]): string[] => {
      if (above.includes(file)) return [[...above.slice(above.indexOf(file)), file].join(" → ")];
      if (done.has(file)) return [];
      done.add(file);
      return (byFile.get(file)?.imports ?? []).flatMap((target) => visit(target, [...above, file]));
    };
    expect(sources.flatMap(({ file }) => visit(file, []))).toEqual([]);
  });

  it("of extensions know nothing of the server and nothing of each other", () => {
    for (const folder of ["middlewares", "tools"]) {
      const wrong = sources
        .filter(({ part, file }) => part === folder && path.basename(file) !== "index.ts")
        .flatMap(({ file, imports }) =>
          imports
            .filter((target) => target !== "src/kit/index.ts")
            .map((target) => `${file} imports ${target}`),
        );
      expect(wrong).toEqual([]);
    }
  });

  it("of agents come from nowhere: langgraph.json is the only way to them", () => {
    expect(
      sources.filter(
        ({ part, imports }) => part !== "agents" && imports.some((i) => i.startsWith("src/agents")),
      ),
    ).toEqual([]);
  });

  it("end in .ts", () => {
    const bare = sources.flatMap(({ file, imports }) =>
      imports.filter((i) => !/\.(ts|json|sql)$/.test(i)).map((i) => `${file}: ${i}`),
    );
    expect(bare).toEqual([]);
  });
});

describe("the form of code", () => {
  it("keeps SQL in the database's folder and in *.sql.ts", () => {
    const sql = /\b(select .+ from|insert into|update \w+\.\w+|delete from) /i;
    const wrong = sources
      .filter(({ file, part }) => part !== "db" && !file.endsWith(".sql.ts"))
      .filter(({ text }) => sql.test(text.replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, "")));
    expect(wrong.map(({ file }) => file)).toEqual([]);
  });

  it("reads the environment in config.ts alone", () => {
    const readers = sources.filter(({ text }) => /process\.env\b/.test(text)).map(({ file }) => file);
    expect(readers).toEqual(["src/config.ts"]);
  });

  it("opens every file with what it owns", () => {
    const silent = sources.filter(({ text }) => !/^(\/\/|\/\*\*)/.test(text)).map(({ file }) => file);
    expect(silent).toEqual([]);
  });

  it("keeps files short", () => {
    const lengths = sources.map(({ file, text }) => ({ file, lines: text.split("\n").length }));
    expect(lengths.filter(({ lines }) => lines > 300)).toEqual([]);
    const sorted = lengths.map(({ lines }) => lines).sort((a, b) => a - b);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(110);
  });

  it("has no default exports and no namespaces that hide what is used", () => {
    const wrong = sources
      .filter(({ text }) => /^export default|^export \* from/m.test(text))
      .map(({ file }) => file);
    expect(wrong).toEqual([]);
  });
});
