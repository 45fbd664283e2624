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

/** For tests that start many shells, on a busy machine. */
const SHELLS_MS = 60_000;

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

/** Ways to write a word with another word in it, which do not change what it is. */
const nested = (word: fc.Arbitrary<string>): fc.Arbitrary<string>[] =>
  [
    (raw: string) => `"$(printf %s ${raw})"`,
    (raw: string) => `"$(f() { printf %s ${raw}; }; f wrong)"`,
    (raw: string) => `"$(case a in (b) ;; a) printf %s ${raw};; esac)"`,
    (raw: string) => `"$( (set -- wrong; printf %s ${raw}) # it's\n)"`,
    (raw: string) => `"\${none:-$(printf %s ${raw})}"`,
    // Each has its own delimiter: the first line that matches ends it, wherever it is.
    (raw: string) => `"$(cat <<END${raw.length}\n$(printf %s ${raw})\nEND${raw.length}\n)"`,
  ].map((write) => word.map(write));

function unlessRefused<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

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

  it.each(NASTY)("stands for itself in functions, and after set and shift: %j", (value) => {
    expect(sh`f() { printf '<%s>' ${value} "$1"; }; f other`).toBe(`<${value}><other>`);
    expect(sh`set -- a b; printf '<%s>' ${value} "$1"; shift; printf '<%s>' ${value} "$@"`).toBe(
      `<${value}><a><${value}><b>`,
    );
    expect(sh`printf '<%s>' $# ${value}; for none; do echo $none; done`).toBe(`<0><${value}>`);
  });

  it.each(NASTY)("stands for itself in here-documents: %j", (value) => {
    expect(sh`cat <<END
it's "${value}" \$HOME
END
printf '<%s>' ${value}`).toBe(`it's "${value}" $HOME\n<${value}>`);
    expect(sh`printf '<%s>' "$(cat <<-'ONE' - <<TWO
	it's
	ONE
${value}
TWO
)" '${value}'`).toBe(`<${value}><${value}>`);
    expect(sh`x=$(cat <<END # it's a comment
<$(printf %s. ${value})>
END
); printf %s "$x"`).toBe(`<${value}.>`);
  });

  it.each(NASTY)("stands for itself after case, in expansions and beside arithmetic: %j", (value) => {
    expect(sh`printf '<%s>' "$(case x in y) echo no;; x) printf %s. ${value};; esac)" '${value}'`).toBe(
      `<${value}.><${value}>`,
    );
    expect(sh`printf '<%s>' "$(echo in case of) '${value}'"`).toBe(`<in case of '${value}'>`);
    expect(sh`printf '<%s>' "\${none:-${value}}" \${none:-'${value}'} \${none:-${value}}`).toBe(
      `<${value}><${value}><${value}>`,
    );
    expect(sh`printf '<%s>' \${none:-a #'${value}'} "$(printf %s. \${none:-)}${value})"`).toBe(
      `<a><#${value}><)${value}.>`,
    );
    expect(sh`printf '<%s>' $(( (1 << 2) + 1 )) ${value} "$((2*(3)))${value}"`).toBe(
      `<5><${value}><6${value}>`,
    );
    expect(sh`printf '<%s>' \`echo '"'\` ${value}`).toBe(`<"><${value}>`);
  });

  it("is a number in arithmetic, where the shell would evaluate anything else", () => {
    expect(sh`echo $((1 + ${41})) "$((${"-2"} * (3 + ${4n})))"`).toBe("42 -14\n");
    for (const code of ["a[$(id)]", "x", "", "1; 2", true])
      expect(() => sh`echo $((1 + (${code})))`).toThrow("must be a whole number");
  });

  it("is refused where it could not stand for itself", () => {
    const value = "x";
    expect(
      () => sh`cat <<'END'
${value}
END
`,
    ).toThrow("a here-document whose delimiter is quoted");
    expect(() => sh`cat <<${value}`).toThrow("the delimiter of a here-document");
    expect(() => sh`echo "\`echo ${value}\`"`).toThrow("use $(…)");
    expect(() => sh`echo $'it\'s ${value}'`).toThrow("$'…'");
  });

  it(
    "stands for itself however deep it is",
    () => {
      const { word } = fc.letrec<{ word: string }>((tie) => ({
        word: fc.oneof(
          { maxDepth: 5, withCrossShrink: true },
          fc.constantFrom("VALUE", '"VALUE"', "'VALUE'"),
          ...nested(tie("word")),
        ),
      }));
      fc.assert(
        fc.property(word, fc.constantFrom("/bin/sh", "/bin/bash"), (written, shell) => {
          const parts = `printf %s ${written}`.split("VALUE");
          const value = 'it\'s  "*" $HOME \\ `id` #';
          const { script, words } = shellScript(
            { raw: parts },
            parts.slice(1).map(() => value),
          );
          const { stdout, stderr } = spawnSync(shell, ["-c", script, "sh", ...words], { encoding: "utf8" });
          expect({ script, stderr, stdout }).toEqual({ script, stderr: "", stdout: value });
        }),
        { numRuns: 40 },
      );
    },
    SHELLS_MS,
  );

  it(
    "is never code, whatever is before and behind it",
    () => {
      const text = fc.string({ unit: fc.constantFrom(...`'"\`$(){}\\#; \n&|<>a=`.split("")), maxLength: 12 });
      fc.assert(
        fc.property(text, text, (before, after) => {
          const mark = "OWNED";
          const value = `$(echo ${mark}>&2)\`echo ${mark}>&2\`';echo ${mark}>&2;"; echo ${mark}>&2;`;
          const strings = { raw: [before, after] };
          const written = unlessRefused(() => shellScript(strings, [value]));
          if (written === undefined) return;
          const { script, words } = written;
          const { stderr } = spawnSync("/bin/sh", ["-fc", script, "sh", ...words], {
            encoding: "utf8",
            input: "",
            timeout: 10_000,
            cwd: directory,
            env: { PATH: "/nowhere" },
          });
          // Messages of the shell may repeat the value; a separate line would come from a command.
          expect(stderr.split("\n")).not.toContain(mark);
        }),
        { numRuns: 150 },
      );
    },
    SHELLS_MS,
  );

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
