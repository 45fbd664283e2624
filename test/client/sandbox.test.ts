import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FileError } from "../../src/client/files/file-error.ts";
import { CommandError, type Host } from "../../src/client/host/host.ts";
import { createExecTools } from "../../src/client/tools/exec-tools.ts";
import { type ClientTarget, clientTargets } from "./client-targets.ts";

// The sandbox of the library, enforced by every server. None of it works by chance: each refusal has a test beside it
// that the same thing works where it is allowed.

describe.each(clientTargets)("a sandbox on $name", ({ name, start }) => {
  let target: ClientTarget;
  let host: Host;
  let base: string;
  let cwd: string;
  /** Wildcards in its name, which must not count as such. */
  let odd: string;

  beforeAll(async () => {
    // Not under /tmp, which `workspace-write` opens.
    base = mkdtempSync("/var/tmp/exec-server-sandbox-");
    cwd = join(base, "work");
    odd = join(base, "od[d]");
    for (const directory of [cwd, odd]) {
      mkdirSync(join(directory, "sub"), { recursive: true });
      mkdirSync(join(directory, ".git"));
      mkdirSync(join(directory, "hidden"));
      writeFileSync(join(directory, "hidden/key"), "");
      for (const name of [".env", "sub/.env", "plain"]) writeFileSync(join(directory, name), `the ${name}`);
    }
    writeFileSync(join(base, "outside"), "from outside");
    target = await start();
    host = await target.connect();
  });

  afterAll(async () => {
    await host?.close();
    await target?.stop();
    rmSync(base, { recursive: true, force: true });
  });

  const sh = (script: string, sandbox: Parameters<Host["run"]>[1] = {}) =>
    host.run(["/bin/sh", "-c", script], { cwd, ...sandbox });

  test("lets a process write where it may, and nowhere else, and says that it was denied", async () => {
    const sandbox = { write: ["sub"] };
    const written = await sh("echo new > sub/file && cat plain", { sandbox });
    expect(written).toMatchObject({ exitCode: 0, stdout: "the plain", sandboxDenied: false });
    expect(readFileSync(join(cwd, "sub/file"), "utf8")).toBe("new\n");

    const denied = await sh("echo new > file", { sandbox });
    expect(denied).toMatchObject({ sandboxDenied: true, exit: { sandboxDenied: true } });
    expect(denied.exitCode).not.toBe(0);
    expect(denied.stderr).toContain("Read-only file system");
    expect(existsSync(join(cwd, "file"))).toBe(false);
  });

  test("is named in the error of a command that it made fail", async () => {
    const failed = sh("echo new > file", { sandbox: "read-only", check: true });
    await expect(failed).rejects.toBeInstanceOf(CommandError);
    await expect(failed).rejects.toThrow(
      /ended with \d+ \(its sandbox denied something\): .*Read-only file system/,
    );
    const ordinary = sh("echo no >&2; exit 3", { sandbox: "read-only", check: true });
    await expect(ordinary).rejects.toThrow(/ended with 3: no$/);
  });

  test("hides denied paths and everything that matches a pattern, in directories of any name", async () => {
    const cat = "for file in .env sub/.env plain; do cat $file 2>&1 || true; echo; done";
    const pattern = { sandbox: { deny: ["**/.env"] } };
    const refusals = "cat: .env: Permission denied\n\ncat: sub/.env: Permission denied\n\nthe plain\n";
    expect((await sh(cat, pattern)).stdout).toBe(refusals);
    // Codex's server searches relative to the process's directory, and misses patterns that name another one.
    if (name.startsWith("our")) expect((await sh(cat, { ...pattern, cwd: odd })).stdout).toBe(refusals);
    expect((await sh(cat, { sandbox: { deny: ["sub"] } })).stdout).toBe(
      "the .env\ncat: sub/.env: Permission denied\n\nthe plain\n",
    );
    expect((await sh(cat, { sandbox: {} })).stdout).toBe("the .env\nthe sub/.env\nthe plain\n");
  });

  test("shows only what a list of readable paths names", async () => {
    const look = `cat plain; cat ${base}/outside`;
    expect((await sh(look, { sandbox: {} })).stdout).toBe("the plainfrom outside");
    const listed = await sh(look, { sandbox: { read: ["."] } });
    expect(listed).toMatchObject({ stdout: "the plain", exitCode: 1 });
    expect(listed.stderr).toContain("No such file or directory");
  });

  test("opens the workspace by the name of a preset, but not its .git", async () => {
    const touch = await sh("touch one /tmp/exec-server-sandbox.$$ && rm /tmp/exec-server-sandbox.$$ one", {
      sandbox: "workspace-write",
    });
    expect(touch).toMatchObject({ exitCode: 0, stderr: "" });
    const git = await sh("touch .git/config", { sandbox: "workspace-write" });
    expect(git).toMatchObject({ exitCode: 1, sandboxDenied: true });
    expect(await sh("touch .git/config", { sandbox: { write: [".", ".git"] } })).toMatchObject({
      exitCode: 0,
    });
    expect(await sh("touch one", { sandbox: "read-only" })).toMatchObject({
      exitCode: 1,
      sandboxDenied: true,
    });
  });

  test("has no network unless it is asked for", async () => {
    const open = `exec ${process.execPath} -e '
      const server = require("net").createServer();
      server.on("error", (error) => { console.error(error.code + ": permission denied"); process.exit(1); });
      server.listen(0, "127.0.0.1", () => { console.log("listens"); server.close(); });'`;
    expect(await sh(open, { sandbox: { network: true } })).toMatchObject({
      stdout: "listens\n",
      exitCode: 0,
    });
    expect(await sh(open, { sandbox: {} })).toMatchObject({ stdout: "", exitCode: 1, sandboxDenied: true });
  });

  test("confines scripts and terminals too, and says by what", async () => {
    const script = await host.sh({ cwd, sandbox: "read-only" })`touch ${"a file"} || echo refused`;
    expect(script.stdout).toBe("refused\n");
    const terminal = await host.terminal(["/bin/sh", "-c", "touch x || echo refused"], {
      cwd,
      cols: 100,
      sandbox: "read-only",
    });
    expect(terminal.sandboxType).toBe("linuxSeccomp");
    const reported = host.supports("process/start.tellEnforced");
    expect(reported).toBe(name.startsWith("our"));
    expect(terminal.enforced).toEqual(reported ? { files: "restricted", network: "restricted" } : undefined);
    expect((await terminal.communicate()).stdout).toContain("refused\r\n");
    const free = await host.start(["/bin/true"]);
    expect(free.sandboxType).toBe("none");
    expect(free.enforced).toBeUndefined();
    await free.closed;
  });

  test("confines a model's commands, wherever the model lets them run", async () => {
    await using tools = createExecTools(host, { cwd, sandbox: { write: ["."] } });
    const inside = await tools.exec_command({ cmd: "echo fine > made && cat made", login: false });
    expect(inside).toMatchObject({ exit_code: 0 });
    const outside = await tools.call("exec_command", { cmd: "touch made", workdir: base, login: false });
    expect(outside.text).toContain("Read-only file system");
    expect(outside.text).toContain("The sandbox blocked something that the command tried.");
    expect(existsSync(join(base, "made"))).toBe(false);
  });

  test("confines calls on files", async () => {
    const files = host.files.within({ write: ["."], deny: ["**/.env", "hidden"] }, { cwd });
    await files.write(join(cwd, "written"), "text");
    expect(await files.readText(join(cwd, "written"))).toBe("text");
    await files.writeStream(join(cwd, "streamed"), [new Uint8Array(3)]);
    expect((await files.stat(join(cwd, "streamed"))).size).toBe(3);
    expect(await files.readText(join(base, "outside"))).toBe("from outside");

    const denied = [
      () => files.write(join(base, "made"), "text"),
      () => files.writeStream(join(base, "made"), [new Uint8Array(1)]),
      () => files.mkdir(join(base, "made")),
      () => files.copy(join(cwd, "plain"), join(base, "made")),
      () => files.write(join(cwd, ".git/config"), "text"),
    ];
    for (const call of denied) await expect(call()).rejects.toMatchObject({ errno: "EROFS" });
    await expect(files.readText(join(cwd, "sub/.env"))).rejects.toBeInstanceOf(FileError);
    await expect(files.readText(join(cwd, "sub/.env"))).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    await expect(files.readStream(join(cwd, "sub/.env")).next()).rejects.toMatchObject({ errno: "EACCES" });
    await expect(files.list(join(cwd, "hidden"))).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    await expect(files.readText(join(cwd, "hidden/key"))).rejects.toMatchObject({ errno: "EACCES" });
    await expect(files.remove(join(base, "outside"))).rejects.toMatchObject({ errno: "EROFS" });
    expect(existsSync(join(base, "made"))).toBe(false);
    // The same calls without the sandbox.
    expect(await host.files.readText(join(cwd, "sub/.env"))).toBe("the sub/.env");
    await host.files.write(join(base, "made"), "text");
    await host.files.remove(join(base, "made"));
  });
});
