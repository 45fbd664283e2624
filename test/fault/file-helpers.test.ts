import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ViewChangedError } from "../../src/capabilities/sandbox/bubblewrap/pinned-paths.ts";
import { callInside } from "../../src/server/files/confined/call-inside.ts";
import { FileHelpers } from "../../src/server/files/confined/file-helpers.ts";
import { FilePolicy } from "../../src/server/files/confined/file-policy.ts";
import { bareClient, HELPER_COMMAND, SETTINGS, startBare } from "./bare-helper.ts";

let directory: string;
let connection: AbortController;
let ends: Promise<unknown>[];
let starts: number;
/** What happens while a helper is started, one after another. A result is the command to run in its place. */
let duringStart: (() => readonly string[] | undefined)[];

beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), "file-helpers-"));
  mkdirSync(join(directory, "in"));
  connection = new AbortController();
  ends = [];
  starts = 0;
  duringStart = [];
});
afterEach(async () => {
  connection.abort();
  await Promise.all(ends);
  rmSync(directory, { recursive: true, force: true });
});

const helpers = new FileHelpers({
  settings: SETTINGS,
  starter: {
    startOwn: async () => {
      starts += 1;
      const command = duringStart.shift()?.();
      const started = await startBare(command ?? HELPER_COMMAND);
      ends.push(started.exited);
      return started;
    },
  },
});

/** Another directory takes the place of the granted one. */
const replace = (): undefined => {
  renameSync(join(directory, "in"), mkdtempSync(join(directory, "old-")));
  mkdirSync(join(directory, "in"));
};

function write(text: string): Promise<unknown> {
  const rules = [{ kind: "path", path: join(directory, "in"), access: "write" }] as const;
  const policy = new FilePolicy(
    { files: { rules, systemDirectories: false }, network: "restricted" },
    { hiddenPaths: [] },
  );
  const params = { path: `file://${directory}/in/f`, dataBase64: Buffer.from(text).toString("base64") };
  return helpers.use(bareClient(connection.signal), policy, (inside) =>
    callInside(inside, "fs/writeFile", params),
  );
}

it("a directory that is replaced while the helper starts is noticed, and another helper starts", async () => {
  duringStart = [replace];
  await write("contents");
  expect(starts).toBe(2);
  expect(readFileSync(join(directory, "in/f"), "utf8")).toBe("contents");
});

it("a directory that is replaced again and again is given up, and nothing is written", async () => {
  duringStart = [replace, replace, replace];
  await expect(write("contents")).rejects.toThrow("the files of its policy were replaced while it started");
  expect(starts).toBe(3);
  expect(() => readFileSync(join(directory, "in/f"))).toThrow("ENOENT");
});

it("a path that is removed while the helper is started is noticed, and another helper starts", async () => {
  const removed = (): never => {
    throw new ViewChangedError("/tmp/.agents was removed");
  };
  duringStart = [removed, removed];
  await write("contents");
  expect(starts).toBe(3);
  expect(readFileSync(join(directory, "in/f"), "utf8")).toBe("contents");
  duringStart = [removed, removed, removed];
  connection.abort();
  connection = new AbortController();
  await expect(write("more")).rejects.toThrow("/tmp/.agents was removed");
});

it("a helper in which something else is mounted is not used", async () => {
  mkdirSync(join(directory, "else"));
  const mounted = ["--dev-bind", "/", "/", "--bind", join(directory, "else"), join(directory, "in")];
  const command = ["/usr/bin/env", "bwrap", ...mounted, ...HELPER_COMMAND];
  duringStart = [() => command, () => command];
  await write("contents");
  expect(starts).toBe(3);
  expect(readdirSync(join(directory, "else"))).toEqual([]);
  expect(readFileSync(join(directory, "in/f"), "utf8")).toBe("contents");
});

it("a helper that cannot be started fails the call, and the next call starts another", async () => {
  duringStart = [
    () => {
      throw new Error("not today");
    },
  ];
  await expect(write("first")).rejects.toThrow("fs sandbox helper failed: not today");
  await write("second");
  expect(readFileSync(join(directory, "in/f"), "utf8")).toBe("second");
});
