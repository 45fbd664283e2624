import { describe, expect, it } from "vitest";
import { FileError } from "../../client/files/file-error.ts";
import type { Host } from "../../client/host/host.ts";
import { pathsOfRoots, Workspace, type WorkspaceOptions } from "./workspace.ts";

const { signal } = new AbortController();

/** A machine whose links are given: each leads to a directory. */
function machine(links: Record<string, string> = {}, environment: object = {}) {
  const files = {
    realpath: async (path: string) => {
      if (path.startsWith("/missing"))
        throw new FileError("NOT_FOUND", `realpath ${path}: no such file`, { path });
      const link = Object.keys(links).find((each) => path === each || path.startsWith(`${each}/`));
      return link === undefined ? path : links[link] + path.slice(link.length);
    },
    stat: async (path: string) => ({ kind: path.endsWith(".txt") ? "file" : "directory" }),
    within: (sandbox: unknown) => ({ sandbox }),
  };
  const known = { cwd: "file:///srv/app", userHomeDir: "file:///home/ann", ...environment };
  return { links, host: { files, environment: known } as unknown as Host };
}

function workspace(options: Partial<WorkspaceOptions> = {}): Workspace {
  return new Workspace({ roots: [], confinement: "workspace-write", network: false, ...options });
}

const enter = (place: Workspace, host: Host) => place.enter(host, signal);

describe("a place", () => {
  it("is the server's working directory, confined", async () => {
    const { cwd, sandbox, readOnly } = await enter(workspace(), machine().host);
    expect(cwd).toBe("/srv/app");
    expect(sandbox).toMatchObject({
      cwd: "file:///srv/app",
      workspaceRoots: ["file:///srv/app"],
      permissions: { type: "managed", network: "restricted" },
    });
    expect(JSON.stringify(sandbox)).toContain('"access":"write"');
    expect(JSON.stringify(readOnly)).not.toContain('"access":"write"');
  });

  it("has the server refuse a link to a root, if it can", async () => {
    const { host } = machine({}, { extensions: [] });
    expect((await enter(workspace(), host)).sandbox).toHaveProperty("realRoots", true);
    expect((await enter(workspace(), machine().host)).sandbox).not.toHaveProperty("realRoots");
  });

  it("has every root, without links, and begins in the first", async () => {
    const { host } = machine({ "/link": "/data/real" });
    const { cwd, sandbox } = await enter(workspace({ roots: ["/link/a", "/srv/b c"] }), host);
    expect(cwd).toBe("/data/real/a");
    expect(sandbox).toMatchObject({ workspaceRoots: ["file:///data/real/a", "file:///srv/b%20c"] });
  });

  it("with a network has one for commands that write, and for those only", async () => {
    const { sandbox, readOnly } = await enter(workspace({ network: true }), machine().host);
    expect(sandbox).toMatchObject({ permissions: { network: "enabled" } });
    expect(readOnly).toMatchObject({ permissions: { network: "restricted" } });
  });

  it("without a sandbox is the machine", async () => {
    const { host } = machine();
    const place = await enter(workspace({ confinement: "none" }), host);
    expect(place).toMatchObject({ sandbox: undefined, readOnly: undefined });
    expect(place.files).toBe(host.files);
  });

  it("that is read-only writes nowhere", async () => {
    const { sandbox } = await enter(workspace({ confinement: "read-only" }), machine().host);
    expect(JSON.stringify(sandbox)).not.toContain('"access":"write"');
  });
});

describe("is refused", () => {
  it.each([
    ["the root of the disk", "/", {}],
    ["the home directory", "/home/ann", {}],
    ["what holds it", "/home", {}],
    ["a link to it", "/link", { "/link": "/home/ann" }],
    ["the home directory that is a link", "/data/ann", { "/home/ann": "/data/ann" }],
    ["the home directory of this program's user", "/root/here", {}],
  ])("by default: %s", async (_, directory, links) => {
    const place = workspace({ directory, home: "/root/here" });
    await expect(enter(place, machine(links).host)).rejects.toThrow("--root PATH");
    // Named, it is granted; without a sandbox, nothing would be kept from it.
    await enter(workspace({ roots: [directory] }), machine(links).host);
    await enter(workspace({ directory, confinement: "none" }), machine(links).host);
  });

  it.each([
    ["a root that does not exist", ["/missing"], "the root /missing cannot be used"],
    ["a root that is a file", ["/srv/a.txt"], "is not a directory"],
  ])("%s", async (_, roots, said) => {
    await expect(enter(workspace({ roots }), machine().host)).rejects.toThrow(said);
  });

  it("a root that something else has replaced, until it is back", async () => {
    const { links, host } = machine({ "/link": "/srv/one" });
    const place = workspace({ roots: ["/link", "/srv/two"] });
    await enter(place, host);
    // The typed path no longer matters.
    links["/link"] = "/etc";
    expect((await enter(place, host)).cwd).toBe("/srv/one");
    links["/srv/two"] = "/etc";
    await expect(enter(place, host)).rejects.toThrow("/srv/two has been replaced by a link to /etc");
    delete links["/srv/two"];
    await enter(place, host);
  });

  it("a sandbox on a server that is too old for one", async () => {
    const { files } = machine().host;
    const old = { files, environment: undefined } as unknown as Host;
    await expect(enter(workspace({ roots: ["/srv"] }), old)).rejects.toThrow("too old for a sandbox");
  });
});

describe("roots of the client", () => {
  const writable = async (roots: readonly string[], client: readonly string[], links = {}) => {
    const { host } = machine(links);
    const place = workspace({ roots });
    await enter(place, host);
    place.narrow(client);
    const { sandbox, cwd } = await enter(place, host);
    return { roots: sandbox?.workspaceRoots?.map((uri) => uri.slice("file://".length)), cwd };
  };

  it.each([
    ["inside narrow", ["/srv"], ["/srv/a", "/srv/b"], ["/srv/a", "/srv/b"]],
    ["around change nothing", ["/srv/a"], ["/srv", "/"], ["/srv/a"]],
    ["elsewhere add nothing", ["/srv/a"], ["/srv/a/b", "/etc"], ["/srv/a/b"]],
    ["beside it are not inside", ["/srv/a"], ["/srv/ab", "/srv/a"], ["/srv/a"]],
    ["that do not exist grant nothing", ["/srv/a"], ["/missing", "/srv/a"], ["/srv/a"]],
  ])("%s", async (_, roots, client, expected) => {
    expect(await writable(roots, client)).toEqual({ roots: expected, cwd: expected[0] });
  });

  it("count by where they lead", async () => {
    expect((await writable(["/srv"], ["/srv/link"], { "/srv/link": "/etc" })).roots).toEqual([]);
  });

  it("that are all elsewhere leave nothing to write", async () => {
    const { host } = machine();
    const place = workspace({ roots: ["/srv/a"] });
    await enter(place, host);
    place.narrow(["/etc"]);
    await enter(place, host);
    const { sandbox, cwd } = await enter(place, host);
    expect(JSON.stringify(sandbox)).not.toContain('"access":"write"');
    expect(cwd).toBe("/srv/a");
    expect(place.description).toContain("lie outside of --root");
  });

  it("are paths of this system", () => {
    const uris = [
      "file:///srv/a%20b",
      "https://example.org/",
      "file:///C:/x",
      "file://host/x",
      "nonsense",
      "file:///%ff",
    ];
    expect(pathsOfRoots(uris)).toEqual(expect.arrayContaining(["/srv/a b"]));
    expect(pathsOfRoots(uris)).not.toContain("nonsense");
  });
});
