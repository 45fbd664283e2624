import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { withDeadline } from "../fault/deadline.ts";

// `exec-server doctor` on this machine, and on machines that are broken in one way each.

const PROGRAM = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));
const DEADLINE_MS = 60_000;

interface Report {
  readonly ok: boolean;
  readonly machine: { readonly platform: string; readonly isRoot: boolean };
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly detail: string;
    readonly remedies: readonly string[];
    readonly said?: string;
  }[];
}

let directory: string;

beforeAll(() => {
  directory = mkdtempSync("/var/tmp/exec-server-doctor-");
  chmodSync(directory, 0o755);
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A directory for PATH with nothing but this `bwrap`. */
function pathWith(name: string, script: string | undefined): string {
  const path = join(directory, name);
  mkdirSync(path);
  if (script !== undefined) writeFileSync(join(path, "bwrap"), script, { mode: 0o755 });
  return path;
}

async function run(
  args: readonly string[],
  { path = SERVER_PATH, through = [] }: { path?: string; through?: readonly string[] } = {},
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const [program = process.execPath, ...rest] = [...through, process.execPath, PROGRAM, ...args];
  const child = spawn(program, rest, { env: { PATH: path }, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const status = await withDeadline(
    ended,
    DEADLINE_MS,
    () => `the end of ${args.join(" ")}: ${stdout}${stderr}`,
  );
  return { status, stdout, stderr };
}

async function report(options: Parameters<typeof run>[1] = {}): Promise<Report & { status: number | null }> {
  const { status, stdout, stderr } = await run(["doctor", "--json"], options);
  expect(stderr).toBe("");
  return { status, ...(JSON.parse(stdout) as Report) };
}

const failures = ({ checks }: Report) => checks.filter(({ ok }) => !ok);

describe.concurrent("doctor", () => {
  test("finds that everything works here", async () => {
    const { status, ok, checks } = await report();
    expect(checks.map(({ name, ok: passed }) => [name, passed])).toEqual(
      [
        "server",
        "bubblewrap",
        "start",
        "write",
        "read",
        "privileges",
        "filter",
        "processes",
        "interfaces",
        "network",
        "terminal",
      ].map((name) => [name, true]),
    );
    expect({ status, ok }).toEqual({ status: 0, ok: true });
  });

  test("prints the same for a person", async () => {
    const { status, stdout } = await run(["doctor"]);
    expect(stdout).toMatch(/^exec-server \d+\.\d+\.\d+ on linux /);
    expect(stdout).toMatch(/^ok +bubblewrap +\/\S+\/bwrap has version \d/m);
    expect(stdout).toMatch(/\n\nThe sandbox works here\.\n$/);
    expect(status).toBe(0);
  });

  test.runIf(process.getuid?.() === 0)("works for an ordinary user", async () => {
    const through = ["/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    const { status, machine, checks } = await report({ through });
    expect(failures({ ok: true, machine, checks })).toEqual([]);
    expect({ status, isRoot: machine.isRoot }).toEqual({ status: 0, isRoot: false });
  });

  test("names the package if bubblewrap is missing", async () => {
    const path = pathWith("empty", undefined);
    const { status, ok, ...rest } = await report({ path });
    expect({ status, ok }).toEqual({ status: 1, ok: false });
    expect(failures({ ok, ...rest })).toEqual([
      {
        name: "bubblewrap",
        ok: false,
        detail: "bubblewrap is not installed",
        remedies: [expect.stringContaining("bubblewrap")],
        said: expect.stringContaining("not found on the server's PATH"),
      },
    ]);
    const { stdout } = await run(["doctor"], { path });
    expect(stdout).toMatch(/^FAILED +bubblewrap +bubblewrap is not installed\n +\| .*\n +> .*bubblewrap/m);
    expect(stdout).toContain("The sandbox does not work here: the server refuses every request");
  });

  test("does not take a directory for bubblewrap", async () => {
    const path = pathWith("directory", undefined);
    mkdirSync(join(path, "bwrap"));
    expect(failures(await report({ path }))).toMatchObject([{ detail: "bubblewrap is not installed" }]);
  });

  test("finds that bubblewrap is too old", async () => {
    const path = pathWith("old", "#!/bin/sh\necho bubblewrap 0.4.0\n");
    expect(failures(await report({ path }))).toMatchObject([
      { name: "bubblewrap", detail: "bubblewrap is too old", said: expect.stringContaining("version 0.4.0") },
    ]);
  });

  test("finds that bubblewrap does not run", async () => {
    const path = pathWith("broken", "#!/missing\n");
    expect(failures(await report({ path }))).toMatchObject([
      { name: "bubblewrap", detail: "the bwrap that comes first on PATH does not work" },
    ]);
  });

  test("names the setting of the kernel that closes user namespaces", async () => {
    // Closed inside a namespace of our own, so that the rest of the machine keeps them.
    const close = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"';
    const through = ["/usr/bin/unshare", "--user", "--map-root-user", "/bin/sh", "-c", close, "sh"];
    expect(failures(await report({ through }))).toMatchObject([
      {
        name: "start",
        detail: "user namespaces are switched off (user.max_user_namespaces = 0)",
        remedies: [expect.stringMatching(/^sysctl -w user\.max_user_namespaces=[1-9]/), expect.anything()],
        said: expect.stringContaining("Creating new namespace failed"),
      },
    ]);
  });

  test("notices a bubblewrap that confines nothing", async () => {
    // Skips the options and the arguments of the stage: a terminal or not, two for listeners, the program's name.
    const path = pathWith(
      "open",
      '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.8.0 && exit\n' +
        'while [ "$1" != -- ]; do shift; done\nshift 7\nunset LD_PRELOAD\nexec /bin/sh "$@"\n',
    );
    const { status, ...rest } = await report({ path });
    expect(status).toBe(1);
    const found = failures(rest).map(({ name, detail }) => `${name}: ${detail}`);
    expect(found).toContain("write: a program inside could write outside");
    expect(found).toContain("read: a program inside could read what is hidden, and list what is hidden");
    expect(found).toContain("filter: a program inside could make any system call");
    expect(found).toContain("processes: a program inside could see the server");
  });

  test("refuses what it does not know", async () => {
    expect(await run(["doctor", "--jsno"])).toEqual({
      status: 2,
      stdout: "",
      stderr: "error: unexpected argument '--jsno' found\n\nFor more information, try '--help'.\n",
    });
  });

  test("explains itself", async () => {
    const { status, stdout } = await run(["doctor", "--help"]);
    expect(stdout).toMatch(/^Try the sandbox on this machine.*\n\nUsage: exec-server doctor \[--json\]\n/);
    expect(status).toBe(0);
  });
});
