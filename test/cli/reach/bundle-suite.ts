import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, test } from "vitest";
import { startCommand } from "../command.ts";
import { BareMachine } from "./bare-machine.ts";

// A machine with Node and without exec-server, which is brought there as a few files.

const NOBODY = 65_534;
const VERSION = /^\d[\w.-]*-[0-9a-f]{16}$/;
const THERE = { status: 0, stdout: "there\n", stderr: "" };
const ECHO = ["run", "--", "echo", "there"];

let machine: BareMachine;
beforeAll(async () => {
  machine = await BareMachine.start();
});
afterAll(() => machine?.[Symbol.asyncDispose]());
beforeEach(() => {
  machine.installNode();
  machine.logIn("/bin/sh");
  machine.forget();
});

/** The one directory of what has been brought. */
function place(): string {
  const names = machine.brought();
  expect(names).toEqual([expect.stringMatching(VERSION)]);
  return join(machine.cache, names[0]!);
}

const SHELLS = [
  ["dash", "/bin/dash"],
  ["fish", "/usr/bin/fish"],
  ["bash", "/bin/bash"],
  ["busybox", "/bin/busybox sh"],
  ["zsh", "/usr/bin/zsh"],
] as const;

test.each(process.env["REACH_WHOLE"] === "1" ? SHELLS : SHELLS.slice(0, 2))(
  "with %s as the login shell, it is brought once, and found the next time",
  async (_, shell) => {
    machine.logIn(shell);
    expect(await machine.run(ECHO)).toEqual({ ...THERE, signal: null });
    const directory = place();
    expect(lstatSync(directory).mode & 0o777).toBe(0o700);
    const { ino } = lstatSync(join(directory, "cli.js"));
    // Without Node in PATH, nothing could be brought.
    rmSync(join(machine.bin, "node"));
    expect(await machine.run(ECHO)).toMatchObject(THERE);
    expect(lstatSync(join(place(), "cli.js")).ino).toBe(ino);
  },
);

it("works with busybox as /bin/sh and for every utility", async () => {
  machine.logInToBusybox();
  expect(await machine.run(ECHO)).toMatchObject(THERE);
});

it("what is brought runs terminals, files, HTTP and kept processes", async () => {
  const started = await machine.run([
    "run",
    "-d",
    "--name",
    "kept",
    "--",
    "sh",
    "-c",
    "echo up; exec sleep 60",
  ]);
  expect(started).toMatchObject({ status: 0, stdout: "kept\n", stderr: "" });
  expect(await machine.run(["logs", "kept"])).toMatchObject({ status: 0, stdout: "up\n" });
  expect(await machine.run(["run", "-t", "--", "sh", "-c", "[ -t 1 ] && echo terminal"])).toMatchObject({
    status: 0,
    stdout: "terminal\r\n",
  });
  const path = join(machine.remote.home, "file");
  writeFileSync(path, "content");
  expect(await machine.run(["cat", path])).toMatchObject({ status: 0, stdout: "content" });
  expect((await machine.run(["fetch", "http://127.0.0.1:1/"])).stderr).toContain("connection refused");
  expect(await machine.run(["kill", "kept"])).toMatchObject({ status: 0 });
});

it("the umask and the environment there are those of a login", async () => {
  const before = execFileSync("/bin/sh", ["-c", "umask"], { encoding: "utf8" });
  const print = ["run", "--", "sh", "-c", "umask; env"];
  const [first, second] = [await machine.run(print), await machine.run(print)];
  for (const { stdout } of [first, second]) {
    expect(stdout.split("\n")[0]).toBe(before.trim());
    expect(stdout).not.toMatch(/^_[a-z]+=/m);
  }
});

it("a login shell may print what it likes before", async () => {
  const chatter = "echo 'Welcome! exec-server:0 ready'; seq 1000; printf 'no newline'; echo trouble >&2";
  machine.logIn("/bin/bash", `PATH=/usr/bin:$PATH\n${chatter}`);
  for (let count = 0; count < 2; count += 1)
    expect(await machine.run(ECHO)).toMatchObject({ status: 0, stdout: "there\n" });
});

it("an installed exec-server is used, and nothing is brought", async () => {
  writeFileSync(join(machine.bin, "exec-server"), "#!/bin/sh\necho installed $* >&2\nexit 9\n", {
    mode: 0o755,
  });
  onTestFinished(() => rmSync(join(machine.bin, "exec-server")));
  const ended = await machine.run(ECHO);
  expect(ended.stderr).toBe("exec-server: cannot reach 'ssh://machine': installed --listen stdio\n");
  await expect.poll(() => machine.brought()).toEqual([]);
});

it("--no-bring brings nothing, and starts what has been brought before neither", async () => {
  for (let count = 0; count < 2; count += 1) {
    const ended = await machine.run(["--no-bring", ...ECHO]);
    expect(ended).toMatchObject({ status: 255, stdout: "" });
    expect(ended.stderr).toMatch(
      /^exec-server: exec-server was not found on 'ssh:\/\/machine': [^\n]*; install it/,
    );
    if (count === 0) {
      await expect.poll(() => machine.brought()).toEqual([]);
      expect(await machine.run(ECHO)).toMatchObject(THERE);
    }
  }
});

test.each([
  ["no Node", undefined, "it needs Node 20.19 or later there; install Node, name a directory with"],
  [
    "an old Node",
    "18.20.4",
    /it needs Node 20\.19 or later there, and 18\.20\.4 \S+\/node is older; install Node/,
  ],
])("%s there is said in one line", async (_, version, message) => {
  rmSync(join(machine.bin, "node"));
  machine.logInWithoutNode();
  if (version !== undefined)
    writeFileSync(join(machine.bin, "node"), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
  const ended = await machine.run(ECHO, { env: { EXEC_SERVER_BINARIES: "/nowhere" } });
  expect(ended.stderr).toMatch(/^exec-server: cannot bring exec-server to 'ssh:\/\/machine': [^\n]+\n$/);
  expect(ended.stderr).toMatch(message);
  expect(ended.status).toBe(255);
});

test.each([
  ["is only for git", "echo 'only git here' >&2; exit 1", "does not run commands in a shell: only git here"],
  [
    "prints, and ends",
    "echo 'no shell for you'; exit 0",
    "does not run commands in a shell: no shell for you",
  ],
  ["shows what it was asked for", 'echo "$SSH_ORIGINAL_COMMAND"', "does not run commands in a shell: "],
])("a forced command that %s is said in one line", async (_, script, message) => {
  machine.logInWith(script);
  const ended = await machine.run(ECHO);
  expect(ended).toMatchObject({ status: 255, stdout: "" });
  expect(ended.stderr).toMatch(/^exec-server: [^\n]+\n$/);
  expect(ended.stderr).toContain(message);
  expect(ended.stderr).toContain("pass --no-bring");
});

it("a forced command that starts exec-server is reached with --no-bring", async () => {
  machine.logInWith(
    `exec ${process.execPath} ${join(import.meta.dirname, "../../../dist/cli.js")} --listen stdio`,
  );
  expect(await machine.run(["--no-bring", ...ECHO])).toMatchObject(THERE);
});

it("output without end is given up", async () => {
  machine.logInWith("exec /usr/bin/yes");
  const ended = await machine.run(ECHO);
  expect(ended).toMatchObject({ status: 255, stdout: "" });
  expect(ended.stderr).toMatch(/^exec-server: [^\n]*prints without end[^\n]*\n$/);
});

it("nothing is run from a directory that someone else could have filled", async () => {
  const parent = dirname(machine.cache);
  expect(await machine.run(ECHO)).toMatchObject(THERE);
  const evil = `console.error("planted"); process.exit(66);`;
  const plant = (path: string): void => writeFileSync(path, evil);
  const directory = place();
  const attacks: readonly [name: string, attack: () => void][] = [
    ["owned by someone else", () => chownSync(directory, NOBODY, NOBODY)],
    ["open to others", () => chmodSync(directory, 0o777)],
    ["a root owned by someone else", () => chownSync(machine.cache, NOBODY, NOBODY)],
    ["a parent that others can write to", () => chmodSync(parent, 0o777)],
    ["a home that others can write to", () => chmodSync(machine.remote.home, 0o777)],
  ];
  for (const [name, attack] of attacks) {
    plant(join(directory, "cli.js"));
    attack();
    const ended = await machine.run(ECHO);
    expect({ name, ...ended }).toMatchObject({ name, ...THERE });
    chmodSync(machine.remote.home, 0o700);
    for (const path of [parent, machine.cache, directory]) {
      if (!existsSync(path)) continue;
      chownSync(path, 0, 0);
      chmodSync(path, 0o700);
    }
  }
  // What was refused below the home directory was kept elsewhere.
  machine.forget();
});

test.each(["root", "directory", "file"])("a link in place of the %s is not followed", async (which) => {
  expect(await machine.run(ECHO)).toMatchObject(THERE);
  const directory = place();
  const path = { root: machine.cache, directory, file: join(directory, "cli.js") }[which]!;
  const elsewhere = join(machine.remote.home, `elsewhere-${which}`);
  execFileSync("/bin/mv", [path, elsewhere]);
  symlinkSync(elsewhere, path);
  expect(await machine.run(ECHO)).toMatchObject(THERE);
  if (which !== "root") expect(lstatSync(path).isSymbolicLink()).toBe(false);
  machine.forget();
});

it("what is incomplete is replaced, and what another version has left is removed unless it is in use", async () => {
  expect(await machine.run(ECHO)).toMatchObject(THERE);
  const directory = place();
  writeFileSync(join(directory, "program.js"), "");
  const old = ["0.0.1-00000000000000aa", "0.0.1-00000000000000bb", "0.0.1-00000000000000cc", "new-aa"];
  const [used, recent, unused, leftover] = old.map((name) => join(machine.cache, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const path of [used, recent, unused, leftover]) {
    mkdirSync(path);
    utimesSync(path, 0, 0);
  }
  writeFileSync(join(recent, "used"), "");
  writeFileSync(join(used, "server.sh"), "read line\n");
  utimesSync(used, 0, 0);
  utimesSync(recent, 0, 0);
  const running = startCommand([], { through: ["/bin/sh", join(used, "server.sh")] });
  onTestFinished(() => void running.child.kill("SIGKILL"));
  expect(await machine.run(ECHO)).toMatchObject(THERE);
  expect(readFileSync(join(directory, "program.js"), "utf8")).not.toBe("");
  expect([used, recent, unused, leftover].map((path) => existsSync(path))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

it("two first connections at once both work, and leave one directory", async () => {
  const both = await Promise.all([machine.run(ECHO), machine.run(ECHO), machine.run(ECHO)]);
  for (const ended of both) expect(ended).toMatchObject(THERE);
  place();
});

test.each(["SIGTERM", "SIGKILL"] as const)(
  "after %s in the middle of bringing, the next one works",
  async (signal) => {
    // Nothing is read there until the command has been killed.
    const fifo = join(machine.remote.home, `held-${signal}`);
    execFileSync("/usr/bin/mkfifo", [fifo]);
    const node = join(machine.bin, "node");
    rmSync(node);
    writeFileSync(
      node,
      `#!/bin/sh\ncase $1 in -e) echo started >&2; read line < ${fifo};; esac\nexec ${process.execPath} "$@"\n`,
      { mode: 0o755 },
    );
    const command = startCommand(["-H", "ssh://machine", "--debug", ...ECHO], { env: machine.localEnv });
    await expect.poll(() => machine.brought(), { timeout: 60_000 }).toEqual([expect.stringMatching(/^new-/)]);
    command.child.kill(signal);
    await command.ended();
    machine.installNode();
    execFileSync("/bin/sh", ["-c", `: <> ${fifo}`]);
    expect(await machine.run(ECHO)).toMatchObject(THERE);
    expect(machine.brought().filter((name) => VERSION.test(name))).toHaveLength(1);
  },
);

test.each([
  ["noexec", "noexec,size=64m", "is mounted noexec"],
  ["full", "size=1m", /has only \d+ KiB of the \d+ KiB that are needed/],
])("if every directory is %s, one line says so", async (_, options, reason) => {
  const places = [dirname(machine.cache), "/var/tmp", "/tmp"];
  mkdirSync(places[0]!, { mode: 0o700 });
  // The home directory may itself be below /tmp.
  const mounts = places.map((path) => `mount -t tmpfs -o mode=0755,${options} none ${path}`);
  machine.logInWith(
    machine.inNamespace(
      [
        ...mounts.slice(0, 2),
        // The home directory of the test may be below /tmp.
        "mount -t tmpfs none /run",
        "mkdir /run/home",
        `mount --rbind ${machine.remote.home} /run/home`,
        mounts[2],
        "export HOME=/run/home PATH=/run/home/path",
        `exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"`,
      ].join(" && "),
    ),
  );
  const ended = await machine.run(ECHO);
  expect(ended.stderr).toMatch(
    /^exec-server: cannot bring exec-server to 'ssh:\/\/machine', which has no directory for it: [^\n]+\n$/,
  );
  expect(ended.stderr).toMatch(reason);
});
