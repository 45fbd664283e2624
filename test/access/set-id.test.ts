import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { uriFromPath } from "../../src/base/file-uri.ts";
import { path as entry, policy } from "../conformance/file-policies.ts";
import { openStdio, type RawClient } from "./raw-client.ts";

// Programs that run as their owner or group, against clients that may not start such a program in the first place.

const SET_ID = [0o4755, 0o2755, 0o6755];
const NOBODY = 65_534;
const NEW = Buffer.from("new").toString("base64");

let directory: string;
let work: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "set-id-"));
  work = join(directory, "work");
  mkdirSync(join(work, "d"), { recursive: true });
  writeFileSync(join(work, "plain"), "plain", { mode: 0o644 });
});
afterEach(() => rmSync(directory, { recursive: true }));

const at = (name: string): string => join(work, name);
const uri = (name: string): string => uriFromPath(at(name));
const modeOf = (name: string): string => (statSync(at(name)).mode & 0o7777).toString(8);
const quoted = (): string => JSON.stringify(work);

/** A program of another user, with unchanged contents. */
function program(name: string, mode: number, owner = 0): void {
  writeFileSync(at(name), "old", { mode: 0o600 });
  chownSync(at(name), owner, owner);
  chmodSync(at(name), mode);
}

async function withClient(config: string, use: (client: RawClient) => Promise<void>): Promise<void> {
  const path = join(directory, "config.toml");
  writeFileSync(path, config);
  await using client = await openStdio(["--config", path]);
  await use(client);
}

const CONFINED: Readonly<Record<string, () => string>> = {
  "a client with roots": () => `[local]\npreset = "files"\nroots = [${quoted()}]\n`,
  "a client of a server with roots": () => `[limits]\nfs_roots = [${quoted()}]\n`,
  "a client with a policy": () => `[local]\npreset = "sandboxed"\npolicy = { write = [${quoted()}] }\n`,
  "a client of a server with a sandbox": () => `[sandbox]\nwrite = [${quoted()}]\n`,
};

describe.each(Object.entries(CONFINED))("%s", (_, config) => {
  it("gives nothing the ID of its owner or group", async () => {
    await withClient(config(), async (client) => {
      for (const mode of SET_ID) {
        for (const [method, params] of [
          ["fs/writeFile", { path: uri("new"), dataBase64: NEW, mode }],
          ["fs/writeFile", { path: uri("plain"), dataBase64: NEW, mode }],
          ["fs/writeFile", { path: uri("plain"), dataBase64: NEW, mode, followSymlinks: false }],
          ["fs/chmod", { path: uri("plain"), mode }],
          ["fs/chmod", { path: uri("d"), mode }],
        ] as const) {
          const { error } = await client.call(method, params);
          expect(error).toMatchObject({ code: -32600, data: { code: "PERMISSION_DENIED" } });
          expect(error!.message).toContain(`mode ${mode.toString(8)} sets the user or group ID`);
        }
      }
      expect(() => statSync(at("new"))).toThrow();
      expect([modeOf("plain"), readFileSync(at("plain"), "utf8")]).toEqual(["644", "plain"]);
      expect(modeOf("d")).toBe("755");
      expect(await client.call("fs/chmod", { path: uri("d"), mode: 0o1777 })).toMatchObject({ result: {} });
    });
  });

  it.each<[string, (client: RawClient) => Promise<unknown>]>([
    ["as a whole", (client) => client.call("fs/writeFile", { path: uri("p"), dataBase64: NEW })],
    [
      "without following links",
      (client) => client.call("fs/writeFile", { path: uri("p"), dataBase64: NEW, followSymlinks: false }),
    ],
    [
      "in blocks",
      async (client) => {
        await client.call("fs/open", { handleId: "h", path: uri("p"), mode: "replace" });
        // Another user gives it the ID while it is open.
        chmodSync(at("p"), 0o6755);
        await client.call("fs/writeBlock", { handleId: "h", offset: 0, chunk: NEW });
      },
    ],
    [
      "as a part",
      async (client) => {
        await client.call("fs/openPart", { handleId: "h", path: uri("p"), length: 0 });
        await client.call("fs/writeBlock", { handleId: "h", offset: 0, chunk: NEW });
      },
    ],
    [
      "by a copy",
      async (client) => {
        writeFileSync(at("from"), "new", { mode: 0o755 });
        await client.call("fs/copy", {
          sourcePath: uri("from"),
          destinationPath: uri("p"),
          recursive: false,
        });
      },
    ],
  ])("takes the ID from a program that it writes %s", async (_way, write) => {
    await withClient(config(), async (client) => {
      program("p", 0o6755);
      await write(client);
      expect([readFileSync(at("p"), "utf8"), modeOf("p")]).toEqual(["new", "755"]);
    });
  });

  it("copies a program of someone else without its ID, and moves it as it is", async () => {
    await withClient(config(), async (client) => {
      program("theirs", 0o6755, NOBODY);
      program("empty", 0o4755, NOBODY);
      writeFileSync(at("empty"), "");
      chmodSync(at("empty"), 0o4755);
      for (const name of ["theirs", "empty"]) {
        const paths = { sourcePath: uri(name), destinationPath: uri(`${name}-copy`) };
        expect(await client.call("fs/copy", { ...paths, recursive: false })).toMatchObject({ result: {} });
        expect(modeOf(`${name}-copy`)).toBe("755");
      }
      expect(readFileSync(at("theirs-copy"), "utf8")).toBe("old");
      await client.call("fs/rename", { from: uri("theirs"), to: uri("moved") });
      expect([modeOf("moved"), statSync(at("moved")).uid]).toEqual(["6755", NOBODY]);
    });
  });
});

describe("a client with full rights", () => {
  it("gives the ID, and keeps it when it writes, and in copies of its own programs only", async () => {
    await withClient("", async (client) => {
      for (const mode of SET_ID) {
        await client.call("fs/chmod", { path: uri("plain"), mode });
        expect(modeOf("plain")).toBe(mode.toString(8));
        await client.call("fs/writeFile", { path: uri("new"), dataBase64: NEW, mode });
        expect(modeOf("new")).toBe(mode.toString(8));
        await client.call("fs/writeFile", { path: uri("new"), dataBase64: NEW });
        expect(modeOf("new")).toBe(mode.toString(8));
      }
      program("theirs", 0o6755, NOBODY);
      for (const name of ["new", "theirs"])
        await client.call("fs/copy", {
          sourcePath: uri(name),
          destinationPath: uri(`${name}-copy`),
          recursive: false,
        });
      expect([modeOf("new-copy"), modeOf("theirs-copy")]).toEqual([modeOf("new"), "755"]);
    });
  });

  it("does not give it with a sandbox of its own", async () => {
    await withClient("", async (client) => {
      const own = policy(uriFromPath(work), entry(uriFromPath(work), "write"));
      const { error } = await client.call("fs/chmod", { path: uri("plain"), mode: 0o4755, ...own });
      expect(error?.data).toMatchObject({ code: "PERMISSION_DENIED" });
      expect(modeOf("plain")).toBe("644");
    });
  });
});
