import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Sandbox } from "../../protocol/sandbox-options.ts";
import type { ServerOptions } from "../settings/server-options.ts";
import { createRights } from "./rights.ts";
import type { RightsOptions } from "../settings/rights-options.ts";
import { rightsContext } from "./rights-context.ts";

let directory: string;
let roots: string[];

beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), "rights-")));
  mkdirSync(join(directory, "data"));
  mkdirSync(join(directory, "own"));
  writeFileSync(join(directory, "own", "table"), "");
  roots = [join(directory, "data")];
});

afterEach(() => rmSync(directory, { recursive: true }));

const files = (options: ServerOptions) => createRights({ preset: "files", roots }, rightsContext(options));
const at = (...names: string[]): string => join(directory, ...names);

describe("roots never contain a file of the server itself", () => {
  const message = "contains the server's own file";

  it("not even by a hard link below them, made before or after", () => {
    linkSync(at("own", "table"), at("data", "before"));
    const { access } = files({ hiddenPaths: [at("own", "table")] }).files!;
    linkSync(at("own", "table"), at("data", "after"));
    for (const name of ["before", "after"])
      expect(() => access.check(at("data", name), { followSymlinks: true })).toThrow("outside the roots");
  });

  it("also if it is reached by a link below them, whose place a client could take", () => {
    expect(files({ hiddenPaths: [at("own", "table")] })).toHaveProperty("preset", "files");
    symlinkSync(at("own", "table"), at("data", "table"));
    expect(() => files({ hiddenPaths: [at("data", "table")] })).toThrow(message);
    symlinkSync(at("own"), at("data", "conf"));
    expect(() => files({ hiddenPaths: [at("data", "conf", "table")] })).toThrow(message);
  });

  it("nor its audit log, though it does not exist yet or a link leads there", () => {
    expect(files({ audit: { file: at("own", "audit.log") } })).toHaveProperty("preset", "files");
    expect(() => files({ audit: { file: at("data", "logs", "audit.log") } })).toThrow(message);
    symlinkSync(at("data"), at("own", "logs"));
    expect(() => files({ audit: { file: at("own", "logs", "audit.log") } })).toThrow(message);
  });
});

it("no token may write what decides whom the server admits", () => {
  const context = { ...rightsContext({}), trustedPaths: [at("data", "clients.pem")] };
  const sandboxed = (policy: Sandbox) => createRights({ preset: "sandboxed", policy }, context);
  expect(() => createRights({ preset: "files", roots }, context)).toThrow("contains the server's own file");
  expect(createRights({ preset: "files", roots, readOnly: true }, context)).toHaveProperty("preset", "files");
  expect(() => sandboxed({ write: [at("data")] })).toThrow(
    `policy makes ${at("data")} writable, including the server's own file ${at("data", "clients.pem")}`,
  );
  expect(sandboxed({ write: [at("own")] })).toHaveProperty("preset", "sandboxed");
  expect(sandboxed("read-only")).toHaveProperty("preset", "sandboxed");
});

describe("a sandboxed token", () => {
  const sandboxed = (policy: Sandbox) => createRights({ preset: "sandboxed", policy }, rightsContext({}));

  it.each<[string, Sandbox]>([
    ["everything", { write: ["/"] }],
    ["everything, and a part of it", { write: ["/", "/tmp"], network: true }],
  ])("cannot be given %s to write", (_, policy) => {
    expect(() => sandboxed(policy)).toThrow("policy makes everything writable; use the preset full for that");
  });

  it.each<[string, Sandbox]>([
    ["everything but a directory", { write: ["/"], deny: ["/srv"] }],
    ["everything but what fits a pattern", { write: ["/"], deny: ["/srv/**/*.key"] }],
    ["a directory", { write: ["/tmp"] }],
    ["nothing", "read-only"],
  ])("can be given %s to write", (_, policy) => {
    expect(sandboxed(policy)).toHaveProperty("sandbox");
  });
});

it("a token is granted the kept processes of whom it names, by name or as a whole principal", () => {
  const grants = (see: string[], control: string[]) => {
    const rights = createRights({ preset: "full", see, control }, rightsContext({}));
    return ["name:ann", "ann", "user:bob", "name:cat"].map((owner) => rights.grant(owner));
  };
  expect(grants(["ann"], [])).toEqual(["follow", undefined, undefined, undefined]);
  expect(grants(["ann"], ["ann", "user:bob"])).toEqual(["control", undefined, "control", undefined]);
  expect(grants(["*"], ["cat"])).toEqual(["follow", "follow", "follow", "control"]);
  expect(grants([], [])).toEqual([undefined, undefined, undefined, undefined]);
});

it.each<[string, RightsOptions, string]>([
  ["a policy", { preset: "full", policy: "read-only" }, "policy is for the preset sandboxed, not for full"],
  ["roots", { preset: "observe", roots: ["/srv"] }, "roots is for the preset files, not for observe"],
  ["read_only", { preset: "full", readOnly: false }, "read_only is for the preset files, not for full"],
  [
    "secrets",
    { preset: "observe", secrets: ["A"] },
    "secrets are not for the preset observe, which starts no processes",
  ],
  [
    "secrets of another user",
    { preset: "full", runAs: "0", secrets: ["A"] },
    "secrets are for processes of the server's own user",
  ],
  ["see", { preset: "files", roots: ["/srv"], see: ["ann"] }, "see is not for the preset files"],
  ["control", { preset: "observe", control: ["ann"] }, "control is not for the preset observe"],
  ["control", { preset: "files", roots: ["/srv"], control: ["ann"] }, "control is not for the preset files"],
  ["no policy", { preset: "sandboxed" }, "the preset sandboxed needs a policy"],
  ["no roots", { preset: "files" }, "the preset files needs roots"],
  ["no root", { preset: "files", roots: [] }, "the preset files needs roots"],
])("%s in rights that cannot have it is refused: %j", (_, options, message) => {
  expect(() => createRights(options, rightsContext({}))).toThrow(message);
});

it("a read-only token may read files, and write none", () => {
  const rights = (readOnly: boolean) =>
    createRights({ preset: "files", roots, readOnly }, rightsContext({ hiddenPaths: [] }));
  expect([rights(true).allows("readFiles"), rights(true).allows("writeFiles")]).toEqual([true, false]);
  expect([rights(false).allows("writeFiles"), rights(false).allows("start")]).toEqual([true, false]);
});

it("roots lie within those of the server", () => {
  const within = (fsRoots: string[]) => files({ limits: { fsRoots } });
  expect(within([directory])).toHaveProperty("preset", "files");
  expect(within([at("own"), at("data")])).toHaveProperty("preset", "files");
  expect(() => within([at("own")])).toThrow(
    `roots: ${at("data")} is outside the roots that this server serves (fsRoots)`,
  );
  expect(() => within([at("dat")])).toThrow("is outside the roots");
});

it("rights with the same options are the same, in whatever order they are written", () => {
  const make = (options: RightsOptions) => createRights(options, rightsContext({}));
  const one = make({ preset: "full", see: ["ann"], limits: { maxProcesses: 1, maxSessions: 2 } });
  const same = make({ limits: { maxSessions: 2, maxProcesses: 1 }, see: ["ann"], preset: "full" });
  const other = make({ preset: "full", see: ["ann"], limits: { maxProcesses: 1, maxSessions: 3 } });
  expect(same.key).toBe(one.key);
  expect(other.key).not.toBe(one.key);
});
