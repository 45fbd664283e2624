import { createHash } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, test } from "vitest";
import { builtCli } from "../../fault/server-under-test.ts";
import { BareMachine } from "./bare-machine.ts";

// A machine without Node, to which exec-server is brought as a single executable. A script stands in for it, because the
// real one has 130 MB; `npm run test:reach` brings that, too.

const THERE = { status: 0, stdout: "there\n", stderr: "" };
const ECHO = ["run", "--", "echo", "there"];
const STAND_IN = `#!/bin/sh\nexec ${process.execPath} ${builtCli} "$@"\n`;

let machine: BareMachine;
let binaries: string;
beforeAll(async () => {
  machine = await BareMachine.start();
  binaries = join(machine.local.home, "binaries");
});
afterAll(() => machine?.[Symbol.asyncDispose]());
beforeEach(() => {
  machine.forget();
  machine.logInWithoutNode();
  standIn(STAND_IN);
});

/** Returns the name of its directory there. */
function standIn(script: string): string {
  const name = `exec-server-linux-${process.arch}`;
  mkdirSync(binaries, { recursive: true });
  writeFileSync(join(binaries, name), script, { mode: 0o755 });
  const sum = createHash("sha256").update(script).digest("hex");
  writeFileSync(join(binaries, "SHA256SUMS"), `${sum}  ${name}\n`);
  return expect.stringMatching(new RegExp(`^\\d[\\w.-]*-${sum.slice(0, 16)}$`)) as string;
}

const run = (args: readonly string[], directory = binaries) =>
  machine.run(args, { env: { EXEC_SERVER_BINARIES: directory } });
const executable = (): string => join(machine.cache, machine.brought()[0] ?? "nothing", "exec-server");

test.each([
  ["everything", []],
  ["neither gzip nor sha256sum", ["gzip", "sha256sum"]],
])("with %s there, it is brought once, and found the next time", async (_, missing) => {
  for (const name of missing) rmSync(join(machine.bin, name));
  try {
    expect(await run(ECHO)).toMatchObject(THERE);
    expect(machine.brought()).toEqual([standIn(STAND_IN)]);
    const { ino, mode } = lstatSync(executable());
    expect(mode & 0o777).toBe(0o700);
    expect(readFileSync(executable(), "utf8")).toBe(STAND_IN);
    // What is sent would be another file, and damaged.
    writeFileSync(join(binaries, `exec-server-linux-${process.arch}`), "");
    expect(await run(ECHO)).toMatchObject(THERE);
    expect(lstatSync(executable()).ino).toBe(ino);
  } finally {
    for (const name of missing) machine.install(name);
  }
});

it("works with busybox as /bin/sh and for every utility", async () => {
  machine.logInToBusybox();
  expect(await run(ECHO)).toMatchObject(THERE);
});

it("an older Node there does not matter", async () => {
  writeFileSync(join(machine.bin, "node"), "#!/bin/sh\necho 18.20.4\n", { mode: 0o755 });
  expect(await run(ECHO)).toMatchObject(THERE);
});

it("a file that is not what the sums say is not sent", async () => {
  writeFileSync(join(binaries, `exec-server-linux-${process.arch}`), `${STAND_IN}# changed\n`);
  expect((await run(ECHO)).stderr).toMatch(
    /^exec-server: cannot bring [^\n]*: it is not what SHA256SUMS beside it says\n$/,
  );
  await expect.poll(() => machine.brought()).toEqual([]);
});

it("a file that does not run there is not kept, and one line says why", async () => {
  standIn("#!/bin/sh\necho 'libstdc++.so.6: cannot open shared object file' >&2; exit 127\n");
  expect(await run(ECHO)).toMatchObject({
    status: 255,
    stdout: "",
    stderr: expect.stringMatching(
      /^exec-server: cannot bring [^\n]*: the file does not run there: libstdc\+\+[^\n]*\n$/,
    ),
  });
  await expect.poll(() => machine.brought()).toEqual([]);
});

it("what is damaged on its way is not kept", async () => {
  rmSync(join(machine.bin, "gzip"));
  writeFileSync(join(machine.bin, "gzip"), "#!/bin/sh\n/bin/gzip -dc | /bin/tr e f\n", { mode: 0o755 });
  try {
    expect((await run(ECHO)).stderr).toMatch(/^exec-server: cannot bring [^\n]*damaged on its way[^\n]*\n$/);
    await expect.poll(() => machine.brought()).toEqual([]);
  } finally {
    machine.install("gzip");
  }
});

it("a link in place of the file or its directory is not followed", async () => {
  expect(await run(ECHO)).toMatchObject(THERE);
  const file = executable();
  const evil = join(machine.remote.home, "evil");
  writeFileSync(evil, "#!/bin/sh\necho planted >&2; exit 66\n", { mode: 0o755 });
  rmSync(file);
  symlinkSync(evil, file);
  expect(await run(ECHO)).toMatchObject(THERE);
  expect(lstatSync(file).isFile()).toBe(true);
  const elsewhere = join(machine.remote.home, "elsewhere");
  mkdirSync(elsewhere, { mode: 0o700 });
  symlinkSync(evil, join(elsewhere, "exec-server"));
  rmSync(dirname(file), { recursive: true });
  symlinkSync(elsewhere, dirname(file));
  expect((await run(ECHO)).stderr).toMatch(/^exec-server: cannot bring [^\n]*cannot be used\n$/);
});

it("two first connections at once both work", async () => {
  for (const ended of await Promise.all([run(ECHO), run(ECHO)])) expect(ended).toMatchObject(THERE);
  expect(machine.brought()).toEqual([standIn(STAND_IN)]);
});

test.runIf(process.env["REACH_WHOLE"] === "1")(
  "the real file runs commands, terminals and sandboxes",
  async () => {
    const real = join(dirname(builtCli), "../binaries");
    expect(existsSync(join(real, "SHA256SUMS"))).toBe(true);
    const there = (...args: string[]) => run(args, real);
    expect(await there(...ECHO)).toMatchObject(THERE);
    expect(await there(...ECHO)).toMatchObject(THERE);
    const tty = ["run", "-t", "--", "sh", "-c", "[ -t 1 ] && echo terminal"];
    expect(await there(...tty)).toMatchObject({ status: 0, stdout: "terminal\r\n" });
    const kept = await there("run", "-d", "--name", "kept", "--", "sh", "-c", "echo up; exec sleep 60");
    expect(kept).toMatchObject({ status: 0, stdout: "kept\n", stderr: "" });
    expect(await there("logs", "kept")).toMatchObject({ status: 0, stdout: "up\n" });
    expect(await there("kill", "kept")).toMatchObject({ status: 0 });
  },
);
