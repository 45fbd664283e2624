import { expect } from "vitest";
import { outputOf, run, withFiles } from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { expectError, start, verifies } from "./verifies.ts";

const DENIED = "Permission denied (os error 13)";
const NO_SUCH_FILE = "No such file or directory (os error 2)";

function script(line: string): string {
  return `#!/bin/sh\necho ${line}\n`;
}

let lastId = 0;

/** The output of a program that reads one line, with or without a terminal. */
async function saidBy(peer: RawPeer, program: string, overrides: Record<string, unknown>): Promise<string> {
  return (await outputOf(peer, `lookup ${++lastId}`, [program], overrides)).trimEnd();
}

verifies("lookup:child-path", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "a/tool!": script("from a"), "b/tool!": script("from b") }, async ({ path }) => {
    for (const tty of [false, true]) {
      const find = (PATH: string) => saidBy(connection, "tool", { tty, env: { PATH } });
      expect(await find(`${path}/a:${path}/b`)).toBe("from a");
      expect(await find(`${path}/b:${path}/a`)).toBe("from b");
    }
  });
});

verifies("lookup:policy-path", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "a/tool!": script("from a") }, async ({ path }) => {
    for (const tty of [false, true]) {
      const envPolicy = {
        inherit: "none",
        ignoreDefaultExcludes: false,
        exclude: [],
        set: { PATH: `${path}/a` },
        includeOnly: [],
      };
      expect(await saidBy(connection, "tool", { tty, env: {}, envPolicy })).toBe("from a");
    }
  });
});

verifies("lookup:relative-entries", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "tool!": script("from top"), "a/tool!": script("from a") }, async ({ uri }) => {
    for (const tty of [false, true]) {
      const find = (PATH: string) => saidBy(connection, "tool", { tty, cwd: uri, env: { PATH } });
      expect(await find("a")).toBe("from a");
      expect(await find("./a")).toBe("from a");
      expect(await find(".")).toBe("from top");
      expect(await find(":/nowhere")).toBe("from top");
      expect(await find("/nowhere:")).toBe("from top");
      expect(await find("")).toBe("from top");
    }
  });
});

verifies("lookup:skips-unusable", async ({ peer }) => {
  const connection = await peer();
  const files = {
    "plain/tool": script("not executable"),
    "directory/tool/file": "",
    "good/tool!": script("good"),
  };
  await withFiles(files, async ({ path }) => {
    const PATH = ["nowhere", "plain/tool", "plain", "directory", "good"]
      .map((name) => `${path}/${name}`)
      .join(":");
    for (const tty of [false, true]) {
      expect(await saidBy(connection, "tool", { tty, env: { PATH } })).toBe("good");
    }
  });
});

verifies("lookup:only-unusable", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "plain/tool": script("x"), "directory/tool/file": "" }, async ({ path }) => {
    for (const PATH of [`${path}/plain:/nowhere`, `/nowhere:${path}/directory`]) {
      const params = start("p", ["tool"], { env: { PATH } });
      await expectError(connection.request("process/start", params), -32603, DENIED);
    }
  });
});

verifies("lookup:only-unusable-tty", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "plain/tool": script("x"), "directory/tool/file": "" }, async ({ path }) => {
    const PATH = `${path}/plain:${path}/directory:/nowhere`;
    await expectError(
      connection.request("process/start", start("p", ["tool"], { tty: true, env: { PATH } })),
      -32603,
      [
        "Unable to spawn tool because:",
        `${path}/plain/tool exists but is not executable.`,
        `${path}/directory/tool exists but is a directory.`,
        `No viable candidates found in PATH "${PATH}"`,
      ].join("\n"),
    );
  });
});

verifies("lookup:path-absent", async ({ peer }) => {
  const connection = await peer();
  await withFiles({ "tool!": script("from cwd") }, async ({ uri }) => {
    expect((await run(connection, "p", ["ls"], { env: {}, cwd: uri })).stdout.toString()).toBe("tool\n");
    const params = start("q", ["tool"], { env: {}, cwd: uri });
    await expectError(connection.request("process/start", params), -32603, NO_SUCH_FILE);
  });
});

verifies("lookup:path-absent-tty", async ({ peer }) => {
  const connection = await peer();
  await expectError(
    connection.request("process/start", start("p", ["ls"], { tty: true, env: {} })),
    -32603,
    "Unable to spawn ls because:\nUnable to resolve the PATH",
  );
});

const slashFiles = {
  "tool!": script("from top"),
  "a/tool!": script("from a"),
  "path/a/tool!": script("from path"),
};

verifies("lookup:slash", async ({ peer }) => {
  const connection = await peer();
  await withFiles(slashFiles, async ({ path, uri }) => {
    const find = (program: string) =>
      saidBy(connection, program, { cwd: uri, env: { PATH: `${path}/path` } });
    expect(await find("./tool")).toBe("from top");
    expect(await find("a/tool")).toBe("from a");
    expect(await find("../../..//bin/../bin/pwd")).toBe(path);
    const elsewhere = start("p", ["a/tool"], { cwd: "file:///", env: { PATH: `${path}/path` } });
    await expectError(connection.request("process/start", elsewhere), -32603, NO_SUCH_FILE);
  });
});

verifies("lookup:dot-slash-tty", async ({ peer }) => {
  const connection = await peer();
  await withFiles(slashFiles, async ({ path, uri }) => {
    const overrides = { tty: true, cwd: uri, env: { PATH: `${path}/path` } };
    expect(await saidBy(connection, "./tool", overrides)).toBe("from top");
  });
});

verifies("lookup:slash-tty", async ({ peer }) => {
  const connection = await peer();
  await withFiles(slashFiles, async ({ path, uri }) => {
    const overrides = { tty: true, cwd: uri, env: { PATH: `${path}/path` } };
    expect(await saidBy(connection, "a/tool", overrides)).toBe("from a");
  });
});

async function arg0Works(peer: RawPeer, tty: boolean): Promise<void> {
  for (const arg0 of ["my name", ""]) {
    const argv = ["cat", "/proc/self/cmdline"];
    expect(await outputOf(peer, `arg0 ${arg0}`, argv, { arg0, tty })).toBe(`${arg0}\0/proc/self/cmdline\0`);
  }
  const program = ["/bin/sh", "-c", "readlink /proc/$$/exe; readlink -f /bin/sh"];
  const [ran, wanted] = (await outputOf(peer, "exe", program, { arg0: "other", tty })).trim().split(/\r?\n/);
  expect(ran).toBe(wanted);
}

verifies("arg0:pipe", async ({ peer }) => {
  await arg0Works(await peer(), false);
});

verifies("arg0:tty", async ({ peer }) => {
  await arg0Works(await peer(), true);
});

verifies("lookup:long-name", async ({ peer }) => {
  const connection = await peer();
  const tooLong = (name: string, PATH: string) =>
    expectError(
      connection.request("process/start", start("long", [name], { env: { PATH } })),
      -32603,
      "Filename too long (os error 36)",
    );
  await tooLong("x".repeat(256), "/bin:/usr/bin");
  await tooLong("é".repeat(128), "");
  await tooLong("x".repeat(100_000), ":".repeat(100_000));
  await expectError(
    connection.request("process/start", start("name", ["x".repeat(255)])),
    -32603,
    NO_SUCH_FILE,
  );
});

verifies("lookup:nul", async ({ peer }) => {
  const connection = await peer();
  await expectError(
    connection.request("process/start", start("nul", ["tr\0ue"])),
    -32603,
    "nul byte found in provided data",
  );
});
