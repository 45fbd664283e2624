import { expect } from "vitest";
import type { RawPeer } from "./raw-peer.ts";
import { outputOf, withFiles } from "./process-events.ts";
import { expectError, start, verifies } from "./verifies.ts";

const NO_SUCH_FILE = "No such file or directory (os error 2)";
const DENIED = "Permission denied (os error 13)";
const FORMAT = "Exec format error (os error 8)";
const TOO_LONG = "Argument list too long (os error 7)";
const NUL = "nul byte found in provided data";

/** Larger than Linux takes for one argument, whatever its page size. */
const OVERSIZED = "x".repeat(4 * 1024 * 1024);

async function refused(
  peer: RawPeer,
  argv: readonly string[],
  overrides: Record<string, unknown>,
  message: string,
): Promise<void> {
  await expectError(peer.request("process/start", start("p", argv, overrides)), -32603, message);
}

verifies("process.start:missing-program-pipe", async ({ peer }) => {
  const connection = await peer();
  await refused(connection, ["no-such-program"], {}, NO_SUCH_FILE);
  await refused(connection, ["/nowhere/program"], {}, NO_SUCH_FILE);
  await refused(connection, ["./no-such-program"], {}, NO_SUCH_FILE);
});

verifies("process.start:missing-program-tty-bare", async ({ peer }) => {
  const connection = await peer();
  const message =
    'Unable to spawn no-such-program because:\nNo viable candidates found in PATH "/usr/bin:/bin"';
  await refused(connection, ["no-such-program"], { tty: true, env: { PATH: "/usr/bin:/bin" } }, message);
});

verifies("process.start:missing-program-tty-absolute", async ({ peer }) => {
  await refused(await peer(), ["/nowhere/program"], { tty: true }, NO_SUCH_FILE);
});

verifies("process.start:missing-interpreter", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "script!": "#!/nowhere/interpreter\n" }, async ({ path }) => {
    await refused(connection, [`${path}/script`], {}, NO_SUCH_FILE);
    await refused(connection, [`${path}/script`], { tty: true }, NO_SUCH_FILE);
  });
});

verifies("process.start:exec-format", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "no-shebang!": "echo hello\n" }, async ({ path }) => {
    await refused(connection, [`${path}/no-shebang`], {}, FORMAT);
    await refused(connection, ["no-shebang"], { env: { PATH: path } }, FORMAT);
    await refused(connection, [`${path}/no-shebang`], { tty: true }, FORMAT);
  });
});

verifies("process.start:exec-format-tty-bare", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "no-shebang!": "echo hello\n" }, async ({ path }) => {
    await refused(connection, ["no-shebang"], { tty: true, env: { PATH: path } }, FORMAT);
  });
});

verifies("process.start:not-executable", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ plain: "#!/bin/sh\n" }, async ({ path }) => {
    for (const tty of [false, true]) {
      await refused(connection, [`${path}/plain`], { tty }, DENIED);
      await refused(connection, [path], { tty }, DENIED);
    }
  });
});

verifies("process.start:empty-program", async ({ peer }) => {
  const connection = await peer();
  await refused(connection, [""], {}, "missing program for pipe spawn");
  await refused(connection, ["", "x"], { tty: true }, "missing program for PTY spawn");
});

verifies("process.start:nul-in-argv", async ({ peer }) => {
  const connection = await peer();
  for (const tty of [false, true]) {
    await refused(connection, ["/bin/true", "a\0b"], { tty }, NUL);
    await refused(connection, ["/bin/tr\0ue"], { tty }, NUL);
  }
  await refused(connection, ["/bin/true"], { arg0: "a\0b" }, NUL);
});

verifies("process.start:nul-in-env", async ({ peer }) => {
  const connection = await peer();
  for (const env of [{ A: "a\0b" }, { "A\0": "b" }]) {
    for (const tty of [false, true]) {
      await refused(connection, ["/bin/true"], { env, tty }, "data provided contains a nul byte");
    }
  }
});

verifies("process.start:argument-list-too-long", async ({ peer }) => {
  await refused(await peer(), ["true", OVERSIZED], {}, TOO_LONG);
});

verifies("process.start:argument-list-too-long-tty", async ({ peer }) => {
  await refused(await peer(), ["true", OVERSIZED], { tty: true }, TOO_LONG);
});

verifies("process.start:cwd", async ({ peer }) => {
  const connection = await peer();
  for (const tty of [false, true]) {
    const output = await outputOf(connection, `tty ${tty}`, ["pwd"], { tty, cwd: "file:///usr/bin" });
    expect(output.trimEnd()).toBe("/usr/bin");
  }
});

verifies("process.start:cwd-uri-accepted", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "sp ace#%é/file": "" }, async ({ path, uri }) => {
    const directories: [string, string][] = [
      ["file://localhost/usr/bin", "/usr/bin"],
      ["FILE:///usr/bin", "/usr/bin"],
      ["file:usr/bin", "/usr/bin"],
      ["file:///etc/../usr/./bin", "/usr/bin"],
      ["file:///usr%2Fbin", "/usr/bin"],
      ["file:///usr/bin/", "/usr/bin"],
      ["file:///", "/"],
      [`${uri}/sp%20ace%23%25%C3%A9`, `${path}/sp ace#%é`],
      [`${uri}/sp ace%23%25é`, `${path}/sp ace#%é`],
    ];
    const seen = await Promise.all(
      directories.map(([cwd]) => outputOf(connection, cwd, ["/bin/pwd", "-P"], { cwd })),
    );
    expect(seen).toEqual(directories.map(([, directory]) => `${directory}\n`));
  });
});

verifies("process.start:cwd-uri-refused", async ({ peer }) => {
  const connection = await peer();
  const foreign = (uri: string) =>
    `cwd URI \`${uri}\` is not valid on this exec-server host: '${uri}' is invalid on 'linux'`;
  const uris: [string, string][] = [
    ["./tmp", "invalid URI: relative URL without a base"],
    ["tmp", "invalid URI: relative URL without a base"],
    ["", "invalid URI: relative URL without a base"],
    ["http://x/y", "unsupported path URI scheme `http`"],
    ["file:///tmp?x=1", "query parameters are not allowed in path URIs"],
    ["file:///tmp#x", "fragments are not allowed in path URIs"],
    ["file:///a%00b", "'file:///a%00b' is invalid on 'linux'"],
    ["file:///C:/x", foreign("file:///C:/x")],
    ["file://host/f", foreign("file://host/f")],
  ];
  for (const [cwd, message] of uris) {
    await expectError(connection.request("process/start", start("p", ["true"], { cwd })), -32602, message);
  }
});

verifies("process.start:cwd-missing-pipe", async ({ peer }) => {
  const connection = await peer();
  await refused(connection, ["true"], { cwd: "file:///nowhere" }, NO_SUCH_FILE);
  await refused(connection, ["true"], { cwd: "file:///etc/passwd" }, "Not a directory (os error 20)");
});

verifies("process.start:cwd-missing-tty", async ({ peer }) => {
  await refused(await peer(), ["true"], { tty: true, cwd: "file:///nowhere" }, NO_SUCH_FILE);
});

verifies("process.start:cwd-not-directory-tty", async ({ peer }) => {
  const overrides = { tty: true, cwd: "file:///etc/passwd" };
  await refused(await peer(), ["true"], overrides, "Not a directory (os error 20)");
});

verifies("process.start:env-name-with-equals", async ({ peer }) => {
  const connection = await peer();
  const output = await outputOf(connection, "p", ["/usr/bin/env"], { env: { "A=B": "c", D: "e=f" } });
  expect(output.trimEnd().split("\n").sort()).toEqual(["A=B=c", "D=e=f"]);
});
