import { base64 } from "./limited-server.ts";
import { SECRET } from "./roots-world.ts";

/** How a method takes a path: what it leads to, the entry itself, or no link at all. */
type Use = "target" | "entry" | "no link";

export interface RootsRequest {
  readonly method: string;
  readonly use: Use;
  readonly params: (path: string, inside: string) => Record<string, unknown>;
}

const WALK = { maxDepth: 64, maxDirectories: 10_000, maxEntries: 50_000, followDirectorySymlinks: true };
const dataBase64 = base64("written");
let count = 0;
const nextId = (): number => (count += 1);

const target = (method: string, more: () => object = () => ({})): RootsRequest => ({
  method,
  use: "target",
  params: (path) => ({ path, ...more() }),
});
const noLink = (method: string, more: object = {}): RootsRequest => ({
  method,
  use: "no link",
  params: (path) => ({ path, followSymlinks: false, ...more }),
});
const entry = (method: string, params: RootsRequest["params"]): RootsRequest => ({
  method,
  use: "entry",
  params,
});

/**
 * Every method that takes a path of the client's, with it in each place that it takes one. `inside` is a name in the
 * root that is free.
 */
export const ROOTS_REQUESTS: readonly RootsRequest[] = [
  target("fs/readFile"),
  noLink("fs/readFile"),
  target("fs/open", () => ({ handleId: `r${nextId()}` })),
  target("fs/open", () => ({ handleId: `w${nextId()}`, mode: "replace" })),
  target("fs/writeFile", () => ({ dataBase64 })),
  noLink("fs/writeFile", { dataBase64 }),
  target("fs/createDirectory"),
  target("fs/createDirectory", () => ({ recursive: false })),
  noLink("fs/createDirectory"),
  noLink("fs/createDirectory", { recursive: false }),
  target("fs/getMetadata"),
  noLink("fs/getMetadata"),
  target("fs/canonicalize"),
  target("fs/readDirectory"),
  target("fs/walk", () => ({ options: WALK })),
  target("fs/watch", () => ({ watchId: `${nextId()}`, recursive: nextId() % 2 === 0 })),
  { method: "fs/watchMissing", use: "target", params: (path) => ({ watchId: nextId(), missing: [path] }) },
  {
    method: "fs/watchMissing",
    use: "target",
    params: (path, inside) => ({ watchId: nextId(), missing: [inside], present: path }),
  },
  entry("fs/remove", (path) => ({ path })),
  entry("fs/remove", (path) => ({ path, recursive: false, force: false })),
  noLink("fs/remove", { recursive: false, force: false }),
  target("fs/getMetadata", () => ({ includeMode: true })),
  target("fs/readDirectory", () => ({ detailed: true })),
  target("fs/writeFile", () => ({ dataBase64, mode: 0o640 })),
  target("fs/chmod", () => ({ mode: 0o700 })),
  entry("fs/symlink", (path) => ({ path, target: "../outside" })),
  entry("fs/symlink", (path) => ({ path, target: "../outside/f", replace: true })),
  entry("fs/readLink", (path) => ({ path })),
  target("fs/hash"),
  entry("fs/openPart", (path) => ({ path, handleId: `p${nextId()}` })),
  entry("fs/rename", (path, inside) => ({ from: path, to: inside })),
  entry("fs/rename", (path, inside) => ({ from: inside.replace(/[^/]*$/, "f"), to: path })),
  entry("fs/copy", (path, inside) => ({ sourcePath: path, destinationPath: inside, recursive: true })),
  {
    method: "fs/copy",
    use: "target",
    params: (path, inside) => ({
      sourcePath: inside.replace(/[^/]*$/, "f"),
      destinationPath: path,
      recursive: true,
    }),
  },
  {
    method: "fs/copy",
    use: "target",
    params: (path, inside) => ({
      sourcePath: inside.replace(/[^/]*$/, "d"),
      destinationPath: path,
      recursive: true,
    }),
  },
  { method: "capabilityRoots/discoverV1", use: "target", params: (path) => ({ roots: [{ id: "x", path }] }) },
  { method: "capabilities/discoverV2", use: "target", params: (cwd) => ({ cwd }) },
  {
    method: "environmentConfig/read",
    use: "target",
    params: (cwd) => ({ cwd, configPaths: [["model"]], requirementsPaths: [] }),
  },
];

/** The secret in every form that a client could read it. */
export const TRACES = [SECRET, base64(SECRET), base64(SECRET).replace(/=+$/, "")];
