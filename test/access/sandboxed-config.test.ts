import { chownSync, chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { uriFromPath } from "../../src/base/file-uri.ts";
import { connect } from "../../src/client/host/connect.ts";
import { serve, type ServeOptions } from "../../src/server/index.ts";

const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;

let directory: string;
let shared: string;
const at = (name: string): string => join(directory, name);

function project(path: string, model: string): void {
  mkdirSync(join(path, ".codex"), { recursive: true });
  mkdirSync(join(path, ".git"));
  writeFileSync(join(path, ".git/HEAD"), "");
  writeFileSync(join(path, ".codex/config.toml"), `model = "${model}"\n`);
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "sandboxed-config-"));
  shared = `/dev/shm/${basename(directory)}`;
  project(at("work"), "of-work");
  project(at("theirs"), "of-theirs");
  project(shared, "of-shared");
  const theirs = at("theirs/.codex/config.toml");
  chmodSync(theirs, 0o600);
  if (isRoot) chownSync(theirs, NOBODY, NOBODY);
  mkdirSync(at("home"));
  const trusted = [at("work"), at("theirs"), shared].map(
    (path) => `[projects.${JSON.stringify(path)}]\ntrust_level = "trusted"\n`,
  );
  writeFileSync(at("home/config.toml"), `model = "of-user"\n${trusted.join("")}`);
});
afterEach(() => {
  rmSync(directory, { recursive: true });
  rmSync(shared, { recursive: true });
});

describe.each<[string, () => Partial<ServeOptions>]>([
  ["of a client", () => ({ local: { preset: "sandboxed", policy: { write: [at("work")] } } })],
  ["of the server", () => ({ sandbox: { write: [at("work")] } })],
])("a sandbox %s", (_, options) => {
  it("hides the configuration of projects as it does from processes", async () => {
    await using server = await serve({
      environment: { PATH: process.env["PATH"], HOME: directory, CODEX_HOME: at("home") },
      ...options(),
    });
    await using host = await connect(server.url);
    const read = async (path: string): Promise<string[] | string> => {
      const params = { cwd: uriFromPath(path), configPaths: [["model"]], requirementsPaths: [] };
      try {
        const { config } = await host.request("environmentConfig/read", params);
        return config.layers.map(({ toml }) => toml.trim());
      } catch (error) {
        return (error as Error).message;
      }
    };
    const user = 'model = "of-user"';
    expect(await read(at("work"))).toEqual([user, 'model = "of-work"']);
    expect(await read(shared)).toEqual([user]);
    if (isRoot) expect(await read(at("theirs"))).toMatch(/theirs\/\.codex\/config\.toml.*Permission denied/);
  });
});
