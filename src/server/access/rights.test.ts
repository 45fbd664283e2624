import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Sandbox } from "../../protocol/sandbox-options.ts";
import type { ServerOptions } from "../server-options.ts";
import { createRights } from "./rights.ts";
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
  const message = "contains a file of the server itself";

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
  expect(() => createRights({ preset: "files", roots }, context)).toThrow(
    "contains a file of the server itself",
  );
  expect(createRights({ preset: "files", roots, readOnly: true }, context)).toHaveProperty("preset", "files");
  expect(() => sandboxed({ write: [at("data")] })).toThrow(
    `policy makes ${at("data")} writable, and with it a file of the server itself, ${at("data", "clients.pem")}`,
  );
  expect(sandboxed({ write: [at("own")] })).toHaveProperty("preset", "sandboxed");
  expect(sandboxed("read-only")).toHaveProperty("preset", "sandboxed");
});
