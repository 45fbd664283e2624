import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { withFiles } from "./process-events.ts";
import { type VerifyContext, verifies } from "./verifies.ts";

const DIGEST = "a".repeat(64);
const CAPABILITY = ["--ws-auth", "capability-token"];
const SIGNED = ["--ws-auth", "signed-bearer-token"];
const NO_MODE =
  "Error: websocket auth flags require `--ws-auth capability-token` or `--ws-auth signed-bearer-token`\n";

type Launch = VerifyContext["launch"];

/** Runs a command line that must not start to listen. */
async function run(launch: Launch, args: readonly string[]) {
  const server = await launch(args);
  const started = server.banner().then(
    (url) => new Error(`the server listens on ${url} with ${args.join(" ")}`),
    () => undefined,
  );
  const listening = await Promise.race([started, server.exited]);
  if (listening instanceof Error) throw listening;
  const { code } = await server.exited;
  return { code, stdout: server.stdout, stderr: server.stderr };
}

async function expectRefused(launch: Launch, args: readonly string[], message: string): Promise<void> {
  expect({ args, ...(await run(launch, args)) }).toEqual({
    args,
    code: 1,
    stdout: "",
    stderr: `Error: ${message}\n`,
  });
}

/** The lines after the first are the parser's own advice. */
async function expectUsageError(launch: Launch, args: readonly string[], firstLine: string): Promise<void> {
  const { code, stdout, stderr } = await run(launch, args);
  expect({ args, code, stdout, line: stderr.split("\n")[0] }).toEqual({
    args,
    code: 2,
    stdout: "",
    line: firstLine,
  });
}

verifies("auth.start:mode", async ({ launch }) => {
  for (const mode of ["basic", "CAPABILITY-TOKEN", "capability_token"]) {
    await expectUsageError(
      launch,
      ["--ws-auth", mode],
      `error: invalid value '${mode}' for '--ws-auth <MODE>'`,
    );
  }
  const missing = "error: a value is required for '--ws-auth <MODE>' but none was supplied";
  await expectUsageError(launch, ["--ws-auth", ""], missing);
  await expectUsageError(launch, ["--ws-auth"], missing);
});

verifies("auth.start:twice", async ({ launch }) => {
  await expectUsageError(
    launch,
    [...CAPABILITY, ...CAPABILITY],
    "error: the argument '--ws-auth <MODE>' cannot be used multiple times",
  );
});

verifies("auth.start:no-value", async ({ launch }) => {
  for (const [option, value] of [
    ["--ws-token-file", "PATH"],
    ["--ws-token-sha256", "HEX"],
    ["--ws-shared-secret-file", "PATH"],
    ["--ws-issuer", "ISSUER"],
    ["--ws-audience", "AUDIENCE"],
    ["--ws-max-clock-skew-seconds", "SECONDS"],
  ] as const) {
    const missing = `error: a value is required for '${option} <${value}>' but none was supplied`;
    await expectUsageError(launch, [...CAPABILITY, option], missing);
    if (value === "PATH") await expectUsageError(launch, [...CAPABILITY, option, ""], missing);
  }
});

verifies("auth.start:no-token", async ({ launch }) => {
  const message =
    "`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set";
  await expectRefused(launch, CAPABILITY, message);
});

verifies("auth.start:two-tokens", async ({ launch }) => {
  const args = [...CAPABILITY, "--ws-token-file", "/none", "--ws-token-sha256", "junk"];
  await expectRefused(launch, args, "`--ws-token-file` and `--ws-token-sha256` are mutually exclusive");
});

verifies("auth.start:digest", async ({ launch }) => {
  for (const digest of ["", "abc", "g".repeat(64), `${DIGEST}a`, DIGEST.slice(1)]) {
    await expectRefused(
      launch,
      [...CAPABILITY, "--ws-token-sha256", digest],
      "--ws-token-sha256 must be a 64-character hex SHA-256 digest",
    );
  }
});

verifies("auth.start:token-file-empty", async ({ launch }) => {
  await withFiles({ empty: "", blank: " \n\t\n" }, async ({ path }) => {
    for (const file of [join(path, "empty"), join(path, "blank")]) {
      const args = [...CAPABILITY, "--ws-token-file", file];
      await expectRefused(launch, args, `websocket auth secret ${file} must not be empty`);
    }
  });
});

verifies("auth.start:token-file-unreadable", async ({ launch }) => {
  await withFiles({}, async ({ path }) => {
    const files = { none: join(path, "none"), directory: join(path, "dir"), binary: join(path, "bin") };
    await mkdir(files.directory);
    await writeFile(files.binary, Buffer.from([0xff, 0xfe]));
    for (const [file, reason] of [
      [files.none, "No such file or directory (os error 2)"],
      [files.directory, "Is a directory (os error 21)"],
      [files.binary, "stream did not contain valid UTF-8"],
    ] as const) {
      const message = `failed to read websocket auth secret ${file}: ${reason}`;
      await expectRefused(launch, [...CAPABILITY, "--ws-token-file", file], message);
    }
  });
});

verifies("auth.start:no-secret", async ({ launch }) => {
  const message = "`--ws-shared-secret-file` is required when `--ws-auth signed-bearer-token` is set";
  await expectRefused(launch, SIGNED, message);
  await expectRefused(launch, [...SIGNED, "--ws-issuer", "me"], message);
});

verifies("auth.start:secret-short", async ({ launch }) => {
  await withFiles({ short: `${"x".repeat(31)}\n`, enough: "é".repeat(16) }, async ({ path }) => {
    const short = join(path, "short");
    await expectRefused(
      launch,
      [...SIGNED, "--ws-shared-secret-file", short],
      `signed websocket bearer secret ${short} must be at least 32 bytes`,
    );
    const server = await launch([...SIGNED, "--ws-shared-secret-file", join(path, "enough")]);
    expect(await server.banner()).toMatch(/^ws:/);
  });
});

verifies("auth.start:secret-empty", async ({ launch }) => {
  await withFiles({ blank: " \n" }, async ({ path }) => {
    const file = join(path, "blank");
    const args = [...SIGNED, "--ws-shared-secret-file", file];
    await expectRefused(launch, args, `websocket auth secret ${file} must not be empty`);
  });
});

verifies("auth.start:secret-missing", async ({ launch }) => {
  await withFiles({}, async ({ path }) => {
    const file = join(path, "none");
    const message = `failed to read websocket auth secret ${file}: No such file or directory (os error 2)`;
    await expectRefused(launch, [...SIGNED, "--ws-shared-secret-file", file], message);
  });
});

verifies("auth.start:no-mode", async ({ launch }) => {
  for (const args of [
    ["--ws-token-file", "/none"],
    ["--ws-token-sha256", DIGEST],
    ["--ws-shared-secret-file", "/none"],
    ["--ws-issuer", ""],
    ["--ws-audience", "x"],
    ["--ws-max-clock-skew-seconds", "3"],
  ]) {
    expect({ args, ...(await run(launch, args)) }).toEqual({ args, code: 1, stdout: "", stderr: NO_MODE });
  }
});

verifies("auth.start:foreign-jwt-options", async ({ launch }) => {
  const message =
    "`--ws-shared-secret-file`, `--ws-issuer`, `--ws-audience`, and `--ws-max-clock-skew-seconds` require " +
    "`--ws-auth signed-bearer-token`";
  for (const options of [
    ["--ws-shared-secret-file", "/none"],
    ["--ws-issuer", "x"],
    ["--ws-audience", "x"],
    ["--ws-max-clock-skew-seconds", "3"],
  ]) {
    await expectRefused(launch, [...CAPABILITY, "--ws-token-sha256", DIGEST, ...options], message);
    await expectRefused(launch, [...CAPABILITY, ...options], message);
  }
});

verifies("auth.start:foreign-token-options", async ({ launch }) => {
  const message =
    "`--ws-token-file` and `--ws-token-sha256` require `--ws-auth capability-token`, not `signed-bearer-token`";
  for (const options of [
    ["--ws-token-file", "/none"],
    ["--ws-token-sha256", DIGEST],
  ]) {
    await expectRefused(launch, [...SIGNED, "--ws-shared-secret-file", "/none", ...options], message);
    await expectRefused(launch, [...SIGNED, ...options], message);
  }
});

verifies("auth.start:skew-number", async ({ launch }) => {
  for (const [value, reason] of [
    ["x", "invalid digit found in string"],
    ["1.5", "invalid digit found in string"],
    ["-1", "invalid digit found in string"],
    ["18446744073709551616", "number too large to fit in target type"],
  ]) {
    const option = "--ws-max-clock-skew-seconds";
    const line = `error: invalid value '${value}' for '${option} <SECONDS>': ${reason}`;
    await expectUsageError(launch, [...SIGNED, `${option}=${value}`], line);
  }
});

verifies("auth.start:skew-range", async ({ launch }) => {
  await withFiles({ secret: "x".repeat(32) }, async ({ path }) => {
    const args = [...SIGNED, "--ws-shared-secret-file", join(path, "secret"), "--ws-max-clock-skew-seconds"];
    const message = "websocket auth clock skew must fit in a signed 64-bit integer";
    await expectRefused(launch, [...args, "9223372036854775808"], message);
    await expectRefused(launch, [...args, "18446744073709551615"], message);
  });
});

verifies("auth.start:stdio", async ({ launch }) => {
  for (const url of ["stdio", "stdio://"]) {
    const args = ["--listen", url, ...CAPABILITY, "--ws-token-sha256", DIGEST];
    await expectRefused(launch, args, "WebSocket auth requires a WebSocket listener, not stdio");
  }
});

verifies("auth.start:check-order", async ({ launch }) => {
  const noToken =
    "`--ws-token-file` or `--ws-token-sha256` is required when `--ws-auth capability-token` is set";
  const missing = "failed to read websocket auth secret /none: No such file or directory (os error 2)";
  const badUrl = "unsupported --listen URL `http://x`; expected `ws://IP:PORT` or `stdio`";
  const file = ["--ws-token-file", "/none"];
  await expectRefused(launch, ["--listen", "http://x", ...CAPABILITY], noToken);
  await expectRefused(launch, ["--listen", "stdio", ...CAPABILITY], noToken);
  await expectRefused(launch, ["--listen", "http://x", ...CAPABILITY, ...file], badUrl);
  await expectRefused(
    launch,
    ["--listen", "stdio", ...CAPABILITY, ...file],
    "WebSocket auth requires a WebSocket listener, not stdio",
  );
  await expectRefused(launch, ["--listen", "ws://127.0.0.1:0", ...CAPABILITY, ...file], missing);
});
