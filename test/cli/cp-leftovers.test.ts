import { randomBytes } from "node:crypto";
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Relay } from "../client/relay.ts";
import { mountTmpfs } from "../fault/mounted-tmpfs.ts";
import { type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import { type CommandOptions, runCommand, startCommand } from "./command.ts";

const MIB = 1024 * 1024;

let server: ServerUnderTest;
let base: string;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server[Symbol.asyncDispose]());

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "exec-server-cp-")));
  for (const name of ["from", "other", "to"]) await mkdir(join(base, name));
});

afterEach(() => rm(base, { recursive: true, force: true, maxRetries: 5 }));

const through = (url: string): CommandOptions => ({ cwd: base, env: { EXEC_SERVER_URL: url } });
const cp = (...args: string[]) => runCommand(["cp", ...args], through(server.url));
const at = (...names: string[]): string => join(base, ...names);
const parts = async (directory: string): Promise<string[]> =>
  (await readdir(directory)).filter((name) => name.startsWith(".exec-server-part-"));

describe.each([
  ["there", (path: string) => path, (path: string) => `:${path}`],
  ["back", (path: string) => `:${path}`, (path: string) => path],
])("a copy %s", (_, source, destination) => {
  it("into a directory removes the marks of commands that were killed, and no others", async () => {
    await writeFile(at("from/large"), randomBytes(16 * MIB));
    await writeFile(at("other/small"), "small");
    await using relay = await Relay.open(server.port);
    const killed = startCommand(["cp", source(at("from")), destination(at("to"))], through(relay.url));
    relay.onBytes = (passed) => {
      if (passed >= 4 * MIB) killed.child.kill("SIGKILL");
    };
    expect((await killed.ended()).signal).toBe("SIGKILL");
    const [mark] = await parts(at("to"));
    expect(mark).toMatch(/^\.exec-server-part-[0-9a-f]{16}-[0-9a-f]{16}$/);
    // One of a command that runs, and one of another machine.
    const [machine = ""] = mark!.match(/[0-9a-f]{8}/) ?? [];
    const running = process.pid.toString(16).padStart(8, "0");
    const others = [
      `.exec-server-part-${machine}${running}-0123456789abcdef`,
      `.exec-server-part-0000000000000001-0123456789abcdef`,
    ].toSorted();
    for (const name of others) await mkdir(at("to", name));
    expect(await cp(source(at("other")), destination(at("to")))).toMatchObject({ status: 0, stderr: "" });
    expect((await parts(at("to"))).toSorted()).toEqual(others);
  });

  it("to a full disk leaves no part there, and what was there stays", async () => {
    await writeFile(at("from/large"), randomBytes(16 * MIB));
    using disk = mountTmpfs("8m");
    await writeFile(join(disk.path, "large"), "old");
    const { status, stderr } = await cp(source(at("from/large")), destination(join(disk.path, "large")));
    expect(status).toBe(1);
    expect(stderr).toMatch(/^exec-server: :?[^:]*\/large: (?:ENOSPC: )?no space left on device/i);
    expect(await readdir(disk.path)).toEqual(["large"]);
    expect(await readFile(join(disk.path, "large"), "utf8")).toBe("old");
    expect(disk.freeBytes()).toBeGreaterThan(7 * MIB);
  });

  it("of a sparse file has holes where the original has", async () => {
    const file = await open(at("from/sparse"), "w");
    await file.write("begin", 0);
    await file.write("middle", 20 * MIB + 3);
    await file.truncate(64 * MIB + 5);
    await file.close();
    expect(await cp(source(at("from/sparse")), destination(at("to")))).toMatchObject({ status: 0 });
    expect((await readFile(at("to/sparse"))).equals(await readFile(at("from/sparse")))).toBe(true);
    expect((await stat(at("to/sparse"))).blocks * 512).toBeLessThan(4 * MIB);
  });

  it("says once how many set-user-ID and set-group-ID bits it has dropped", async () => {
    for (const [name, mode] of [
      ["group", 0o2755],
      ["plain", 0o755],
      ["user", 0o4755],
    ] as const) {
      await writeFile(at("from", name), name);
      await chmod(at("from", name), mode);
    }
    const copy = () => cp(source(at("from")), destination(at("to")));
    const { status, stderr } = await copy();
    expect(status).toBe(0);
    expect(stderr).toMatch(
      /^exec-server: set-user-ID and set-group-ID bits are not copied: (?:group|user) and 1 more; set them with chmod where they are needed\n$/,
    );
    for (const name of ["group", "plain", "user"])
      expect((await stat(at("to/from", name))).mode & 0o7777).toBe(0o755);
    // What is there already loses nothing.
    expect(await copy()).toMatchObject({ status: 0, stderr: "" });
  });
});
