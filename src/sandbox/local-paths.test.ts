import { describe, expect, it } from "vitest";
import { isPlainPath, toHostCommand } from "./local-paths.ts";

const folders = {
  threadId: "t",
  dataDir: "/d",
  workspace: "/d/threads/t/user-data/workspace",
  uploads: "/d/threads/t/user-data/uploads",
  outputs: "/d/threads/t/user-data/outputs",
  scratch: "/d/threads/t/sandbox-tmp",
};
const U = "/d/threads/t/user-data";
const T = folders.scratch;

describe("toHostCommand", () => {
  const translated: [string, string][] = [
    ["cat /mnt/user-data/uploads/a.csv", `cat ${U}/uploads/a.csv`],
    ["ls '/mnt/user-data' \"/mnt/user-data/x y\"", `ls '${U}' "${U}/x y"`],
    [
      "A=/mnt/user-data/workspace:/mnt/user-data/outputs; f --out=/tmp/x",
      `A=${U}/workspace:${U}/outputs; f --out=${T}/x`,
    ],
    ["(cd /tmp&&ls>/tmp/l;cat</tmp/l)", `(cd ${T}&&ls>${T}/l;cat<${T}/l)`],
    ["echo $(ls /tmp) `ls /tmp`", `echo $(ls ${T}) \`ls ${T}\``],
  ];
  for (const [command, host] of translated) {
    it(`translates ${command}`, () => expect(toHostCommand(command, folders)).toBe(host));
  }

  const kept = [
    "cat /var/tmp/x ~/tmp/x $HOME/tmp $(pwd)/tmp ./tmp ../tmp a/tmp",
    "ls /tmpfile /tmp-old /tmp.bak /mnt/user-database /mnt/user-data-old",
    "curl http://host/tmp/x https://h/mnt/user-data file:///tmp",
    "ls /mnt /mnt/user",
    `ls $\{X}/tmp`,
  ];
  for (const command of kept) {
    it(`leaves ${command}`, () => expect(toHostCommand(command, folders)).toBe(command));
  }
});

describe("isPlainPath", () => {
  it("is true of paths that need no quotes, and of no others", () => {
    expect(isPlainPath("/home/ann/.heddle/threads/0-1_2/workspace")).toBe(true);
    for (const path of ["/a b", "/a'b", '/a"', "/$HOME", "/a;b", "/a*", "/a\nb", "/(a)"]) {
      expect(isPlainPath(path), path).toBe(false);
    }
  });
});
