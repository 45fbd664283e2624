import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/fixtures/temporary-directory.ts";
import { findBubblewrap, locateBubblewrap } from "./bubblewrap.ts";

let directory: string;
beforeEach(() => {
  directory = temporaryDirectory();
});

/** A program that says what a bwrap would say. */
function install(version: string, help = "", folder = directory): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "bwrap");
  writeFileSync(path, `#!/bin/sh\ncase $1 in --version) echo '${version}';; --help) echo '${help}';; esac\n`);
  chmodSync(path, 0o755);
  return path;
}

describe("bubblewrap", () => {
  it("is found with its version, and what it can do", async () => {
    const path = install("bubblewrap 0.8.0", "    --bind-fd FD DEST    Bind");
    await expect(findBubblewrap(directory)).resolves.toEqual({
      path,
      version: "0.8.0",
      limitsSize: true,
      mountsDescriptors: true,
    });
  });

  it.each([
    ["0.5.0", false],
    ["0.6.9", false],
    ["0.7.0", true],
    ["0.10", true],
    ["1.0", true],
  ])("of version %s limits the size of temporary file systems: %s", async (version, limitsSize) => {
    install(`bubblewrap ${version}`, "--bind SRC DEST");
    await expect(findBubblewrap(directory)).resolves.toMatchObject({
      version,
      limitsSize,
      mountsDescriptors: false,
    });
  });

  it.each(["0.4.9", "0.4", "0"])("of version %s is too old", async (version) => {
    install(`bubblewrap ${version}`);
    await expect(findBubblewrap(directory)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining(`has version ${version}, but 0.5.0 or later is needed`),
    });
  });

  it("is refused if it does not report its version, or cannot be run", async () => {
    install("something else");
    await expect(findBubblewrap(directory)).rejects.toThrow("does not report its version");
    writeFileSync(join(directory, "bwrap"), "#!/bin/sh\nexit 1\n");
    await expect(findBubblewrap(directory)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("cannot be run"),
    });
    await expect(findBubblewrap(join(directory, "none"))).rejects.toThrow(
      "was not found on the server's PATH",
    );
  });

  it("is the first program of that name on an absolute part of the path", () => {
    const first = install("", "", join(directory, "first"));
    install("", "", join(directory, "second"));
    mkdirSync(join(directory, "folder/bwrap"), { recursive: true });
    mkdirSync(join(directory, "file"));
    writeFileSync(join(directory, "file/bwrap"), "", { mode: 0o644 });
    const parts = ["none", "folder", "file", "first/", "second"].map((name) => join(directory, name));
    expect(locateBubblewrap(["", ".", "relative", ...parts].join(":"))).toBe(first);
    expect(locateBubblewrap(parts.slice(0, 3).join(":"))).toBeUndefined();
    expect(locateBubblewrap("")).toBeUndefined();
  });
});
