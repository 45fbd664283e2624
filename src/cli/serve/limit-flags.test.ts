import { describe, expect, it } from "vitest";
import { LIMITS } from "../../server/settings/limits.ts";
import { parseFlags } from "./flags.ts";
import { help } from "./help.ts";
import { LIMIT_FLAGS, parseLimitFlags } from "./limit-flags.ts";

const parse = (flags: Record<string, string>) => {
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  return parseLimitFlags(parseFlags(args, { values: LIMIT_FLAGS }));
};

describe("limit flags", () => {
  it("are read by the kind of the limit", () => {
    expect(
      parse({
        "max-message-bytes": "65536",
        "allow-direct-exec": "false",
        "allow-prepared-exec": "true",
        "fs-roots": "/a:/b c",
      }),
    ).toEqual({
      maxMessageBytes: 65_536,
      allowDirectExec: false,
      allowPreparedExec: true,
      fsRoots: ["/a", "/b c"],
    });
  });

  it.each([
    [
      { "max-sessions": "0" },
      "invalid value '0' for '--max-sessions <COUNT>': must be a whole number from 1 to",
    ],
    [{ "max-sessions": "1e3" }, "invalid value '1e3' for '--max-sessions <COUNT>'"],
    [{ "max-sessions": "-1" }, "invalid value '-1' for '--max-sessions <COUNT>'"],
    [{ "max-message-bytes": "67108865" }, "must be a whole number from 4096 to 67108864"],
    [
      { "allow-direct-exec": "no" },
      "invalid value 'no' for '--allow-direct-exec <BOOL>': must be true or false",
    ],
    [{ "fs-roots": "a" }, "invalid value 'a' for '--fs-roots <PATHS>': must be a list of absolute paths"],
    [{ "fs-roots": "" }, "must be a list of absolute paths"],
  ])("%j is refused", (flags, message) => {
    expect(() => parse(flags as Record<string, string>)).toThrow(message);
  });

  it("are all in the help, with what they mean", () => {
    const words = help().replace(/\s+/g, " ");
    for (const [flag, valueName] of Object.entries(LIMIT_FLAGS))
      expect(words).toContain(`--${flag} <${valueName}>`);
    for (const { doc } of Object.values(LIMITS)) expect(words).toContain(doc);
  });
});
