import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAppError } from "../errors.ts";
import { faultOfSegment, numberedName, quoted, toSafeFileName } from "./file-name.ts";

describe("toSafeFileName", () => {
  it("keeps an ordinary name, whatever its script", () => {
    for (const name of [
      "report.md",
      "Bericht (2) – Übersicht.csv",
      "報告.pdf",
      ".env",
      "a b.tar.gz",
      "👩‍💻.png",
    ]) {
      expect(toSafeFileName(name)).toBe(name);
    }
  });

  it("composes, trims and replaces what a tag, a shell or Windows would read as more than a name", () => {
    expect(toSafeFileName("u\u0308ber.txt")).toBe("\u00fcber.txt");
    expect(toSafeFileName("  notes.txt . ")).toBe("notes.txt");
    expect(toSafeFileName('a</uploaded_files>"b".txt'.replace("/", ""))).toBe("a_uploaded_files__b_.txt");
    expect(toSafeFileName("Screenshot 10:20:30.png")).toBe("Screenshot 10_20_30.png");
  });

  const refused = {
    empty: "",
    "only spaces": "   ",
    dot: ".",
    "dot dot": "..",
    "three dots": "...",
    traversal: "../../etc/passwd",
    "a windows path": "C:\\fakepath\\x.csv",
    "windows traversal": "..\\..\\x",
    "an absolute path": "/etc/passwd",
    "a NUL": "a.png\0.html",
    "a newline": "a\nb.txt",
    "an escape": "a\u001b[31m.txt",
    "a C1 control": "a\u0085b",
    "a text-direction override": "photo\u202egnp.exe",
    "a line separator": "a\u2028b",
    "a lone surrogate": "a\ud800b",
    "4 KiB": "x".repeat(4096),
    "256 bytes in 128 characters": "é".repeat(128),
    "a device": "CON",
    "a device with an extension": "nul.txt",
    "a numbered device": "Com1.log",
  };
  for (const [what, name] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      expect(() => toSafeFileName(name)).toThrow(
        expect.objectContaining({
          code: "invalid_file_name",
          message: expect.stringMatching(/^The file name/),
        }),
      );
    });
  }

  it("gives, for any text, a name that is one path segment and stays as it is, or refuses", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (name) => {
        let safe: string;
        try {
          safe = toSafeFileName(name);
        } catch (error) {
          expect(isAppError(error, "invalid_file_name")).toBe(true);
          return;
        }
        expect(faultOfSegment(safe)).toBeUndefined();
        expect(toSafeFileName(safe)).toBe(safe);
      }),
    );
  });
});

describe("numberedName", () => {
  it("puts the number before the extension", () => {
    expect(numberedName("report.md", 2)).toBe("report (2).md");
    expect(numberedName("README", 3)).toBe("README (3)");
    expect(numberedName(".env", 2)).toBe(".env (2)");
  });

  it("shortens the stem, by whole characters, where the name would become too long", () => {
    const name = numberedName(`${"é".repeat(125)}.md`, 12);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
    expect(name).toMatch(/^é+ \(12\)\.md$/);
  });
});

describe("quoted", () => {
  it("shows a name in a message without what a terminal obeys", () => {
    expect(quoted("a\u001b[31m\u202eb")).toBe('"a\ufffd[31m\ufffdb"');
    expect(quoted("x".repeat(5000)).length).toBeLessThan(130);
  });
});
