import { chmodSync, closeSync, openSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { makeFifo } from "../../../test/fault/file-nodes.ts";
import { openAround, temporaryDirectory } from "../../../test/fixtures/temporary-directory.ts";
import { AllowedRoots } from "./allowed-roots.ts";
import { chmod } from "./chmod.ts";
import { type FileAccess, freeAccess, sandboxedAccess } from "./file-access.ts";
import { Location } from "./location.ts";
import { NEW_FILE_MODE, openToWrite, refuseSetId, refuseToChange, WRITE_FLAGS } from "./writing.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});
const at = (name: string): string => join(directory, name);
const location = (path: string, access: FileAccess): Location => new Location(path, access);
const trusted = (path: string): Location => location(path, freeAccess);
const sandboxed = (path: string): Location => location(path, sandboxedAccess);
const opened = (from: Location, path: string): void =>
  closeSync(openToWrite(from, path, (name) => openSync(name, WRITE_FLAGS, NEW_FILE_MODE)).fd);

describe("somebody with roots or a sandbox", () => {
  it("writes files, pipes and the null device", () => {
    makeFifo(at("pipe"));
    const reader = openSync(at("pipe"), 0o4000);
    for (const path of [at("new"), at("pipe"), "/dev/null"]) opened(sandboxed(path), path);
    closeSync(reader);
    expect(readdirSync(directory)).toEqual(["new", "pipe"]);
  });

  it.each(["/dev/zero", "/dev/tty", "/proc/sys/kernel/hostname", "/sys/kernel/uevent_seqnum"])(
    "writes nothing that acts on the machine: %s",
    (path) => {
      symlinkSync(path, at("link"));
      for (const named of [path, at("link")]) {
        const open = (): number => openSync(named, "r");
        expect(() => openToWrite(sandboxed(named), named, open), named).toThrow(
          "is a device or a kernel file",
        );
        expect(() => refuseToChange(sandboxed(named), named), named).toThrow("is a device or a kernel file");
      }
      expect(openAround(path)).toEqual([]);
    },
  );

  it("takes set-user-ID from a file by opening it", () => {
    writeFileSync(at("f"), "");
    chmodSync(at("f"), 0o6755);
    opened(trusted(at("f")), at("f"));
    expect(statSync(at("f")).mode & 0o7777).toBe(0o6755);
    opened(sandboxed(at("f")), at("f"));
    expect(statSync(at("f")).mode & 0o7777).toBe(0o755);
  });

  it("cannot ask for set-user-ID", () => {
    for (const mode of [0o4000, 0o2755, 0o6777]) {
      expect(() => refuseSetId(mode, sandboxed("/"))).toThrow(
        `mode ${mode.toString(8)} sets the user or group ID`,
      );
      expect(() => refuseSetId(mode, trusted("/"))).not.toThrow();
    }
    for (const mode of [undefined, 0, 0o1777]) expect(() => refuseSetId(mode, sandboxed("/"))).not.toThrow();
  });
});

it("lets nobody write the server's own process, but other devices and processes", () => {
  for (const path of ["/proc/self/oom_score_adj", `/proc/${process.pid}/task/${process.pid}/comm`])
    expect(() => opened(trusted(path), path), path).toThrow("belongs to the server's own process");
  opened(trusted("/dev/null"), "/dev/null");
  opened(trusted("/dev/zero"), "/dev/zero");
  refuseToChange(trusted("/proc/self/comm"), "/proc/self/comm");
  refuseToChange(sandboxed(directory), directory);
  expect(openAround(`/proc/${process.pid}`)).toEqual([]);
});

describe("permissions", () => {
  const modeOf = (name: string): number => statSync(at(name)).mode & 0o7777;
  beforeEach(() => {
    writeFileSync(at("f"), "");
    symlinkSync("f", at("link"));
  });

  it("are set for what a path leads to", () => {
    for (const mode of [0o600, 0o4755, 0o1777]) {
      chmod(trusted(at("link")), mode);
      expect(modeOf("f")).toBe(mode);
    }
    expect(() => chmod(trusted(at("none")), 0o600)).toThrow("ENOENT");
  });

  it("are confined as writing is", () => {
    const roots = new AllowedRoots([directory]);
    chmod(location(at("link"), roots), 0o640);
    expect(modeOf("f")).toBe(0o640);
    expect(() => chmod(location(at("f"), roots), 0o4755)).toThrow("leave out 6000");
    expect(() => chmod(location(directory, roots), 0o777)).toThrow("is a root of this server");
    expect(() => chmod(sandboxed("/dev/zero"), 0o666)).toThrow("is a device or a kernel file");
    symlinkSync(".", at("top"));
    expect(() => chmod(location(at("top"), roots), 0o777)).toThrow("is a root of this server");
    expect(modeOf("f")).toBe(0o640);
  });
});
