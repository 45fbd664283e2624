import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { UsageError } from "../../base/errors.ts";
import { shellScript, type ShellValue } from "./shell-script.ts";

/** Random scripts redirect output to random names. */
const directory = mkdtempSync(join(tmpdir(), "shell-script-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function sh(strings: TemplateStringsArray, ...values: ShellValue[]): string {
  const { script, words } = shellScript(strings, values);
  const { stdout, stderr } = spawnSync("/bin/sh", ["-c", script, "sh", ...words], { encoding: "utf8" });
  if (stderr !== "") throw new Error(`${script}\n${stderr}`);
  return stdout;
}

const NASTY = [
  "$(echo pwned)",
  "`echo pwned`",
  "'; echo pwned; '",
  '"; echo pwned; "',
  "a b\n c",
  "*",
  "-n",
  "\\",
  "#",
  "",
  "${1}",
  "$1",
];

describe("a value in a script", () => {
  it.each(NASTY)("stands for itself wherever it stands: %j", (value) => {
    expect(sh`printf '<%s>' ${value} x${value}y`).toBe(`<${value}><x${value}y>`);
    expect(sh`printf '<%s>' "${value}" "a ${value} b"`).toBe(`<${value}><a ${value} b>`);
    expect(sh`printf '<%s>' '${value}' 'a ${value} b'`).toBe(`<${value}><a ${value} b>`);
    expect(sh`printf '<%s>' "$(printf '%s.' ${value})"`).toBe(`<${value}.>`);
    expect(sh`printf '<%s>' "$(printf '%s.' "${value}")" # it's a comment
      printf '<%s>' ${value}`).toBe(`<${value}.><${value}>`);
    expect(sh`(printf '<%s>' ${value}); x=${value}; printf '<%s>' "$x" \'${value}\'`).toBe(
      `<${value}><${value}><'${value}'>`,
    );
  });

  it("is never code, whatever is before and behind it", () => {
    const text = fc.string({ unit: fc.constantFrom(...`'"\`$(){}\\#; \n&|<>a=`.split("")), maxLength: 12 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const mark = "OWNED";
        const value = `$(echo ${mark}>&2)\`echo ${mark}>&2\`';echo ${mark}>&2;"; echo ${mark}>&2;`;
        const strings = { raw: [before, after] };
        const { script, words } = shellScript(strings, [value]);
        const { stderr } = spawnSync("/bin/sh", ["-fc", script, "sh", ...words], {
          encoding: "utf8",
          input: "",
          timeout: 10_000,
          cwd: directory,
          env: { PATH: "/nowhere" },
        });
        // Messages of the shell may repeat the value; a line of its own would come from a command.
        expect(stderr.split("\n")).not.toContain(mark);
      }),
      { numRuns: 150 },
    );
  });

  it("is a list of words when it is a list", () => {
    expect(sh`printf '<%s>' ${["a b", "$x", "'"]}`).toBe("<a b><$x><'>");
    expect(sh`printf '<%s>' start ${[]} end`).toBe("<start><end>");
    expect(sh`printf '<%s>' "${["a", "b"]}" '${["c", "d"]}'`).toBe("<a b><c d>");
    expect(sh`printf '<%s>' ${Array.from({ length: 12 }, (_, index) => index)}`).toBe(
      "<0><1><2><3><4><5><6><7><8><9><10><11>",
    );
  });

  it("leaves backslashes to the shell, but for those that a template needs", () => {
    expect(sh`printf '%s' a\.b '\.' "\$HOME"`).toBe("a.b\\.$HOME");
    expect(sh`x=1; echo \${x} \`echo 2\` \\ ${3}`).toBe("1 2 \\ 3\n");
  });

  it("may be a number or a boolean", () => {
    expect(sh`echo ${1} ${2n} ${true}`).toBe("1 2 true\n");
  });

  it.each([undefined, null, {}, ["a", undefined], "a\0b", "\ud800", () => "x"])(
    "is refused when it is %o",
    (value) => {
      expect(() => sh`echo ${value as string}`).toThrow(UsageError);
    },
  );
});
