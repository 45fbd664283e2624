import { silentLogger } from "../../../src/base/logger.ts";
import { UsageError } from "../../../src/base/errors.ts";
import { parseTokens, rightsFormat } from "../../../src/server/access/token-file.ts";
import { rightsContext } from "../../../src/server/access/rights-context.ts";
import { expectTrue, type Target } from "../target.ts";

const HASH = "0123456789abcdef".repeat(4);
const format = rightsFormat(rightsContext({ logger: silentLogger }));

/** A table is refused with its line, or every token has a name, digests and rights. */
export const target: Target = {
  seeds: [
    `[[token]]\nname = "a"\nsha256 = "${HASH}"\npreset = "full"\nexpires = 2027-01-31T00:00:00Z\n`,
    `[[token]]\nname = "b"\nsha256 = ["${HASH}"]\npreset = "files"\nroots = ["/tmp"]\nread_only = true\n[token.limits]\nprocesses = 3\n`,
    `[[token]]\nname = 'c'\nsha256 = "${HASH}"\npreset = "sandboxed"\nsee = "own"\ncontrol = "own"\nrun_as = "nobody"\n`,
    `# comment\n[[token]] # another\n"name" = """c"""\nsha256 = "${HASH}"\npreset = "observe"\n`,
  ],
  words: [
    "[[token]]\n",
    "[token]\n",
    "[token.limits]\n",
    "policy = ",
    "roots = ",
    '"',
    "'",
    '"""',
    "\n",
    "=",
    "[",
    "]",
    "{",
    "}",
    "#",
    "\\u0000",
    "true",
    "1e999",
    "nan",
    "inf",
    "2027-01-31",
    "__proto__ = 1\n",
    "\u00e4",
  ],
  maxBytes: 1000,
  async run(input) {
    let entries;
    try {
      entries = await parseTokens("tokens.toml", input.toString("utf8"), format);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      expectTrue(
        /^tokens\.toml:\d+(?::\d+)?: ./.test(error.message),
        `an error names its line: ${error.message}`,
      );
      expectTrue(!/[\n\r]/.test(error.message), `an error is one line: ${error.message}`);
      return;
    }
    expectTrue(new Set(entries.map(({ name }) => name)).size === entries.length, "names are unique");
    for (const { name, sha256, expiresAtMs, rights } of entries) {
      expectTrue(/^[\w.-]{1,64}$/.test(name), "a token has a name");
      expectTrue(sha256.length > 0 && sha256.every((hash) => hash.length === 32), "a token has digests");
      expectTrue(expiresAtMs === undefined || Number.isFinite(expiresAtMs), "a time is one");
      expectTrue(typeof rights === "object", "a token has rights");
    }
  },
};
