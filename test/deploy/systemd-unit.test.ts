import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";

const run = promisify(execFile);
const UNIT = fileURLToPath(new URL("../../deploy/systemd/exec-server.service", import.meta.url));
const RELAY = fileURLToPath(new URL("../../deploy/systemd/exec-server-relay.service", import.meta.url));
const KEEPER = fileURLToPath(new URL("../../deploy/systemd/exec-server-keeper.service", import.meta.url));
const DURABLE = fileURLToPath(new URL("../../deploy/systemd/exec-server-durable.service", import.meta.url));
const SOCKET = fileURLToPath(new URL("../../deploy/systemd/exec-server-durable.socket", import.meta.url));
const DROP_IN = fileURLToPath(new URL("../../deploy/systemd/executor.conf", import.meta.url));
/** Without a path: npm installs below /usr/local or /usr. */
const PROGRAM = "ExecStart=exec-server ";
const EXISTING = `ExecStart=${process.execPath} `;
/** Ten times the highest exposure that is allowed. */
const THRESHOLD = 29;

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "exec-server-unit-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

/** A copy of the unit with a program that exists on this machine. */
async function copyUnit(change = (text: string) => text, unit = UNIT): Promise<string> {
  const text = await readFile(unit, "utf8");
  expect(text).toContain(PROGRAM);
  const path = join(directory, "exec-server.service");
  await writeFile(path, change(text.replace(PROGRAM, EXISTING)));
  return path;
}

const verify = async (path: string) => run("systemd-analyze", ["verify", path]);
const judge = async (path: string) =>
  run("systemd-analyze", ["security", "--offline=true", "--no-pager", `--threshold=${THRESHOLD}`, path]);

it("systemd accepts the unit without a warning", async () => {
  expect(await verify(await copyUnit())).toEqual({ stdout: "", stderr: "" });
  const wrong = await copyUnit((text) => text.replace("KillMode=mixed", "KillMod=mixed"));
  expect((await verify(wrong)).stderr).toContain("KillMod");
});

it("systemd accepts the unit of an executor without a warning, and does not start one again that was replaced", async () => {
  const unit = await copyUnit();
  const places = `${unit}.d`;
  await mkdir(places);
  const text = await readFile(DROP_IN, "utf8");
  expect(text).toContain("\nRestartPreventExitStatus=3\n");
  const dropIn = text.replace(PROGRAM, EXISTING);
  await writeFile(join(places, "executor.conf"), dropIn);
  expect(await verify(unit)).toEqual({ stdout: "", stderr: "" });
  // Without the empty line there would be two programs.
  await writeFile(join(places, "executor.conf"), dropIn.replace("ExecStart=\n", ""));
  await expect(verify(unit)).rejects.toThrow("more than one ExecStart");
});

it("systemd rates the exposure of the unit below 3", async () => {
  expect((await judge(await copyUnit())).stdout).toMatch(/Overall exposure level .* [0-2]\.[0-9] OK/);
  const open = await copyUnit((text) => text.replace("ProtectSystem=strict", ""));
  await expect(judge(open)).rejects.toThrow("Command failed");
});

it("systemd accepts the unit of a relay without a warning, and rates its exposure below 2", async () => {
  const unit = await copyUnit(undefined, RELAY);
  expect(await verify(unit)).toEqual({ stdout: "", stderr: "" });
  expect((await judge(unit)).stdout).toMatch(/Overall exposure level .* [01]\.[0-9] OK/);
});

it("systemd accepts the units of a durable server without a warning, and rates them as the others", async () => {
  const keeper = await copyUnit(undefined, KEEPER);
  expect((await judge(keeper)).stdout).toMatch(/Overall exposure level .* [0-2]\.[0-9] OK/);
  await rename(keeper, join(directory, "exec-server-keeper.service"));
  const server = await copyUnit(undefined, DURABLE);
  expect((await judge(server)).stdout).toMatch(/Overall exposure level .* [01]\.[0-9] OK/);
  const own = join(directory, "exec-server-durable.service");
  await rename(server, own);
  const socket = join(directory, "exec-server-durable.socket");
  await copyFile(SOCKET, socket);
  expect(await verify(socket)).toEqual({ stdout: "", stderr: "" });
  expect(await verify(own)).toEqual({ stdout: "", stderr: "" });
});

it("a keeper is protected as a server that runs its clients' programs itself", async () => {
  const settings = async (unit: string): Promise<string[]> => {
    const [, text = ""] = (await readFile(unit, "utf8")).split("[Service]\n");
    return text
      .split("\n")
      .filter((line) => /^[A-Z]/.test(line) && !/^(?:Type|ExecStart|LogsDirectory\w*)=/.test(line));
  };
  expect(await settings(KEEPER)).toEqual(await settings(UNIT));
});

it("the unit of a relay reads its token table where it is changed, not a copy", async () => {
  const text = await readFile(RELAY, "utf8");
  expect(text).toMatch(/^ExecStart=.* --tokens \/etc\/exec-server-relay\/relay\.toml /m);
  expect(text).not.toContain("LoadCredential=");
});

it.each([UNIT, RELAY, KEEPER, DURABLE])(
  "a system call that %s refuses fails, rather than ending the program",
  async (unit) => {
    // V8 calls pkey_alloc as it starts, which is in none of systemd's sets of ordinary calls.
    expect(await readFile(unit, "utf8")).toMatch(/^SystemCallErrorNumber=EPERM$/m);
  },
);
