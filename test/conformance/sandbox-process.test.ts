import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { expect } from "vitest";
import { awaitNoneLeft } from "../fault/marked-processes.ts";
import {
  collect,
  LIBRARY_SIGNALS,
  outputOf,
  run,
  shell,
  untilOutput,
  withFiles,
  write,
} from "./process-events.ts";
import { entry, READ_ONLY, READ_ONLY_WITH_NETWORK, readAll, restrictedTo } from "./sandbox-context.ts";
import { SERVER_PATH } from "./server-process.ts";
import { expectError, start, verifies } from "./verifies.ts";

const sandbox = READ_ONLY;
/** A shell handles a signal when its command has ended, so the command must be there when it comes. */
const INTERRUPTIBLE = "trap 'echo handled; exit 43' INT; sh -c 'echo up; exec sleep 1000'; echo slept";
const BOTH = [{ sandbox }, { sandbox, tty: true }];

verifies("sandbox.start:type", async ({ peer }) => {
  const connection = await peer();
  for (const [index, how] of BOTH.entries()) {
    const answer = await connection.request("process/start", start(`p${index}`, ["true"], how));
    expect(answer).toMatchObject({ processId: `p${index}`, sandboxType: "linuxSeccomp" });
  }
});

verifies("sandbox.start:empty-argv", async ({ peer }) => {
  const connection = await peer();
  const request = connection.request("process/start", start("p", [], { sandbox }));
  await expectError(request, -32602, "argv must not be empty");
});

verifies("sandbox.start:directory", async ({ peer }) => {
  const connection = await peer();
  const from = (cwd: string) => connection.request("process/start", start("p", ["true"], { sandbox, cwd }));
  await expectError(from("file:///does/not/exist"), -32603, "No such file or directory (os error 2)");
  await expectError(from("file:///etc/passwd"), -32603, "Not a directory (os error 20)");
});

verifies("sandbox.start:denied-directory", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "here/file": "" }, async ({ path, uri }) => {
    const denied = restrictedTo([readAll, entry(`${path}/here`, "deny")]);
    const { exitCode, sandboxDenied } = await run(connection, "p", shell("ls"), {
      sandbox: denied,
      cwd: `${uri}/here`,
    });
    expect(exitCode).not.toBe(0);
    expect(sandboxDenied).toBe(true);
  });
});

verifies("sandbox.start:missing-program", async ({ peer }) => {
  const connection = await peer();
  for (const [index, how] of BOTH.entries()) {
    for (const name of ["no-such-program", "/no/such/program"]) {
      const { exitCode, stderr, pty, sandboxDenied } = await run(connection, `${index}${name}`, [name], how);
      expect({ exitCode, sandboxDenied }).toEqual({ exitCode: 101, sandboxDenied: true });
      expect(Buffer.concat([stderr, pty]).toString()).toContain(
        `${name}: No such file or directory (os error 2)`,
      );
    }
  }
});

verifies("sandbox.start:not-executable", async ({ peer }) => {
  const connection = await peer();
  for (const name of ["/etc/passwd", "/etc"]) {
    const { exitCode, stderr, sandboxDenied } = await run(connection, name, [name], { sandbox });
    expect({ exitCode, sandboxDenied }).toEqual({ exitCode: 101, sandboxDenied: true });
    expect(stderr.toString()).toContain(`${name}: Permission denied (os error 13)`);
  }
});

verifies("sandbox.start:nothing-granted", async ({ peer }) => {
  const connection = await peer();
  const { exitCode, stderr } = await run(connection, "p", ["/bin/true"], { sandbox: restrictedTo([]) });
  expect(exitCode).toBe(101);
  expect(stderr.toString()).toContain("/bin/true: No such file or directory (os error 2)");
});

verifies("sandbox.start:legacy-landlock", async ({ peer }) => {
  const connection = await peer();
  const { exitCode, stderr, sandboxDenied } = await run(connection, "p", ["true"], {
    sandbox: { ...sandbox, useLegacyLandlock: true },
  });
  expect({ exitCode, sandboxDenied }).toEqual({ exitCode: 101, sandboxDenied: true });
  expect(stderr.toString()).toContain("requires bubblewrap");
});

verifies("sandbox.start:legacy-landlock-refused", async ({ peer }) => {
  const connection = await peer();
  const legacy = { ...sandbox, useLegacyLandlock: true };
  const request = connection.request("process/start", start("p", ["true"], { sandbox: legacy }));
  await expectError(request, -32602, /requires bubblewrap/);
});

verifies("sandbox.start:override", async ({ peer }) => {
  const connection = await peer();
  await withFiles({}, async ({ path }) => {
    for (const sandboxOverride of [
      "noOverride",
      "escalatedSandboxWithRestrictions",
      "bypassSandboxFirstAttempt",
    ]) {
      const { exitCode, stderr } = await run(connection, sandboxOverride, ["touch", `${path}/file`], {
        sandbox: { ...sandbox, sandboxOverride },
      });
      expect(exitCode, sandboxOverride).toBe(1);
      expect(stderr.toString()).toContain("Read-only file system");
    }
  });
});

verifies("sandbox.start:search-path", async ({ peer }) => {
  const connection = await peer();
  const { exitCode } = await run(connection, "p", ["/bin/true"], { sandbox, env: { PATH: "/nowhere" } });
  expect(exitCode).toBe(0);
});

const profile = (permissions: object) => ({ permissions, windowsSandboxLevel: "disabled" });
const DISABLED = profile({ type: "disabled" });

verifies("sandbox.start:disabled", async ({ peer }) => {
  const connection = await peer();
  await withFiles({}, async ({ path }) => {
    for (const [index, none] of [DISABLED, profile({ type: "external", network: "enabled" })].entries()) {
      const { exitCode } = await run(connection, `p${index}`, ["mkdir", `${path}/${index}`], {
        sandbox: none,
      });
      expect(exitCode).toBe(0);
    }
  });
});

verifies("sandbox.start:external-network", async ({ peer }) => {
  const connection = await peer();
  const restricted = profile({ type: "external", network: "restricted" });
  await withFiles({}, async ({ path }) => {
    const script = `mkdir ${path}/made && perl -e 'socket(S, 2, 1, 0) ? print "open" : print "$!"'`;
    const answer = await connection.request(
      "process/start",
      start("p", shell(script), { sandbox: restricted }),
    );
    expect(answer).toMatchObject({ sandboxType: "linuxSeccomp" });
    expect((await collect(connection, "p")).stdout.toString()).toBe("Operation not permitted");
  });
});

verifies("sandbox.start:disabled-type", async ({ peer }) => {
  const connection = await peer();
  const answer = await connection.request("process/start", start("p", ["true"], { sandbox: DISABLED }));
  expect(answer).toMatchObject({ sandboxType: "none" });
});

verifies("sandbox.exit:status", async ({ peer }) => {
  const connection = await peer();
  for (const [index, how] of BOTH.entries()) {
    for (const status of [0, 1, 42, 255]) {
      const ended = await run(connection, `p${index}${status}`, shell(`exit ${status}`), how);
      expect(ended.exitCode).toBe(status);
    }
  }
});

verifies("sandbox.exit:signal", async ({ peer }) => {
  const connection = await peer();
  const signals = { HUP: 129, INT: 130, KILL: 137, SEGV: 139, TERM: 143 };
  for (const [index, how] of BOTH.entries()) {
    const codes = await Promise.all(
      Object.keys(signals).map(async (name) => {
        const { exitCode } = await run(
          connection,
          `${index}${name}`,
          shell(`ulimit -c 0; kill -${name} $$`),
          how,
        );
        return [name, exitCode];
      }),
    );
    expect(Object.fromEntries(codes)).toEqual(signals);
  }
});

verifies("sandbox.exit:background", async ({ peer }) => {
  const connection = await peer();
  const marker = `background-${randomUUID()}`;
  const script = "setsid sleep 1000 & sleep 1000 & echo started; exit 3";
  const env = { PATH: SERVER_PATH, marker };
  const { exitCode, stdout } = await run(connection, "p", shell(script), { sandbox, env });
  expect({ exitCode, stdout: stdout.toString() }).toEqual({ exitCode: 3, stdout: "started\n" });
  await awaitNoneLeft(marker);
});

verifies("sandbox.terminate", async ({ peer }) => {
  const connection = await peer();
  await connection.request(
    "process/start",
    start("p", shell("trap '' TERM; echo up; sleep 1000"), { sandbox }),
  );
  await untilOutput(connection, "p", /up/);
  expect(await connection.request("process/terminate", { processId: "p" })).toEqual({ running: true });
  const exited = await connection.nextNotification("process/exited", "p");
  expect(exited.params).toMatchObject({ exitCode: 137, sandboxDenied: false });
  await connection.nextNotification("process/closed", "p");
});

verifies("sandbox.signal:interrupt", async ({ peer }) => {
  const connection = await peer();
  for (const [index, how] of BOTH.entries()) {
    const processId = `p${index}`;
    const script = shell(INTERRUPTIBLE);
    await connection.request("process/start", start(processId, script, how));
    await untilOutput(connection, processId, /up/);
    await connection.request("process/signal", { processId, signal: "interrupt" });
    const exited = await connection.nextNotification("process/exited", processId);
    expect(exited.params).toMatchObject({ exitCode: 43 });
    expect(await untilOutput(connection, processId, /handled/)).not.toContain("slept");
  }
});

verifies("sandbox.inside:environment", async ({ peer }) => {
  const connection = await peer();
  const lines = async (id: string, env: Record<string, string>) => {
    const output = await outputOf(connection, id, ["/usr/bin/env"], { sandbox, cwd: "file:///usr", env });
    return output.trimEnd().split("\n").toSorted();
  };
  expect(await lines("p", { A: "1", LD_DEBUG_OUTPUT: "x" })).toEqual([
    "A=1",
    "LD_DEBUG_OUTPUT=x",
    "PWD=/usr",
  ]);
  expect(await lines("q", { PWD: "/somewhere", OLDPWD: "/else" })).toEqual(["OLDPWD=/else", "PWD=/usr"]);
  expect(await lines("r", {})).toEqual(["PWD=/usr"]);
});

verifies("sandbox.inside:arg0", async ({ peer }) => {
  const connection = await peer();
  for (const [index, how] of BOTH.entries()) {
    const argv = shell("tr '\\0' ' ' < /proc/$$/cmdline");
    expect(await outputOf(connection, `p${index}`, argv, { ...how, arg0: "other name" })).toMatch(
      /^other name -c /,
    );
  }
});

verifies("sandbox.inside:pipes", async ({ peer }) => {
  const connection = await peer();
  const links = await outputOf(
    connection,
    "p",
    shell("ls -l /proc/self/fd | sed -n 's/.* \\([0-9]* -> \\)/\\1/p'"),
    {
      sandbox,
    },
  );
  const [stdin, stdout, stderr, , ...others] = links.trimEnd().split("\n");
  expect(stdin).toBe("0 -> /dev/null");
  expect([stdout, stderr]).toEqual([
    expect.stringMatching(/^1 -> pipe:/),
    expect.stringMatching(/^2 -> pipe:/),
  ]);
  expect(others).toEqual([]);
  await connection.request("process/start", start("q", ["cat"], { sandbox, pipeStdin: true }));
  await write(connection, "q", "line\n");
  expect(await untilOutput(connection, "q", /line/)).toBe("line\n");
  const { stderr: errors } = await run(connection, "r", shell("echo out; echo error >&2"), { sandbox });
  expect(errors.toString()).toBe("error\n");
});

verifies("sandbox.inside:user", async ({ peer }) => {
  const connection = await peer();
  const argv = shell("id -u; id -g; umask");
  const outside = await outputOf(connection, "p", argv);
  expect(await outputOf(connection, "q", argv, { sandbox })).toBe(outside);
});

verifies("sandbox.inside:privileges", async ({ peer }) => {
  const connection = await peer();
  for (const [index, how] of [sandbox, READ_ONLY_WITH_NETWORK].entries()) {
    const status = await outputOf(connection, `p${index}`, ["cat", "/proc/self/status"], { sandbox: how });
    const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1];
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) expect(field(set)).toMatch(/^0+$/);
    expect({ NoNewPrivs: field("NoNewPrivs"), Seccomp: field("Seccomp") }).toEqual({
      NoNewPrivs: "1",
      Seccomp: "2",
    });
  }
});

verifies("sandbox.inside:namespaces", async ({ peer }) => {
  const connection = await peer();
  const names = ["user", "mnt", "pid", "ipc", "net"];
  const argv = shell(`cd /proc/self/ns; readlink ${names.join(" ")}`);
  const own = names.map((name) => readlinkSync(`/proc/self/ns/${name}`));
  const shared = async (id: string, how: object) => {
    const links = (await outputOf(connection, id, argv, { sandbox: how })).trimEnd().split("\n");
    return names.filter((_, index) => links[index] === own[index]);
  };
  expect(await shared("p", sandbox)).toEqual([]);
  expect(await shared("q", READ_ONLY_WITH_NETWORK)).toEqual(["net"]);
});

verifies("sandbox.inside:processes", async ({ peer }) => {
  const connection = await peer();
  const output = await outputOf(connection, "p", shell("cd /proc; echo [0-9]*"), { sandbox });
  expect(output.trimEnd().split(" ").length).toBeLessThan(5);
});

verifies("sandbox.inside:devices", async ({ peer }) => {
  const connection = await peer();
  const names = (await outputOf(connection, "p", ["ls", "/dev"], { sandbox })).trimEnd().split("\n");
  expect(names).toEqual(
    "core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero".split(" "),
  );
  const script = shell(
    "head -c 3 /dev/zero | wc -c; echo x > /dev/null; echo x > /dev/shm/f && cat /dev/shm/f",
  );
  expect(await outputOf(connection, "q", script, { sandbox })).toBe("3\nx\n");
});

verifies("sandbox.inside:read-only", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "work/file": "", "other/file": "" }, async ({ path, uri }) => {
    const writable = restrictedTo([readAll, entry(`${path}/work`, "write")]);
    const script = shell("echo new > work/file && cat work/file; echo new > other/file");
    const ended = await run(connection, "p", script, { sandbox: writable, cwd: uri });
    expect(ended.stdout.toString()).toBe("new\n");
    expect(ended.stderr.toString()).toContain("Read-only file system");
    expect(ended.sandboxDenied).toBe(true);
    expect(readFileSync(`${path}/other/file`, "utf8")).toBe("");
  });
});

verifies("sandbox.inside:denied", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "hidden/file": "secret", file: "secret" }, async ({ path }) => {
    const denied = restrictedTo([readAll, entry(`${path}/hidden`, "deny"), entry(`${path}/file`, "deny")]);
    for (const name of ["hidden/file", "file"]) {
      const ended = await run(connection, name, ["cat", `${path}/${name}`], { sandbox: denied });
      expect(ended.stderr.toString()).toContain("Permission denied");
      expect(ended.stdout.toString()).toBe("");
    }
    const listed = await run(connection, "ls", ["ls", `${path}/hidden`], { sandbox: denied });
    expect(listed.stderr.toString()).toContain("Permission denied");
  });
});

verifies("sandbox.inside:git", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ ".git/config": "old" }, async ({ path }) => {
    const writable = restrictedTo([readAll, entry(path, "write")]);
    const { stderr } = await run(connection, "p", ["touch", `${path}/.git/x`], { sandbox: writable });
    expect(stderr.toString()).toContain("Read-only file system");
  });
});

verifies("sandbox.inside:signals", async ({ peer }) => {
  const connection = await peer();
  for (const [index, how] of BOTH.entries()) {
    const status = await outputOf(connection, `p${index}`, ["cat", "/proc/self/status"], how);
    const masks = [...status.matchAll(/^(SigBlk|SigIgn):\s*(\w+)/gm)].map(
      ([, , mask]) => BigInt(`0x${mask}`) & ~LIBRARY_SIGNALS,
    );
    expect(masks).toEqual([0n, 0n]);
  }
});
