import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { uriFromPath } from "../../src/base/file-uri.ts";
import { type ListeningServer, serve } from "../../src/server/index.ts";
import { everyMethod } from "./every-method.ts";
import { openSocket } from "./raw-client.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "audited-"));
});

afterEach(() => rm(directory, { recursive: true }));

const logFile = (): string => join(directory, "audit.jsonl");

async function serving(...presets: readonly string[]): Promise<ListeningServer> {
  const path = join(directory, "tokens.toml");
  const sha256 = (token: string): string => createHash("sha256").update(token).digest("hex");
  await writeFile(
    path,
    presets
      .map((name) => `[[token]]\nname = "${name}"\nsha256 = "${sha256(name)}"\npreset = "${name}"\n`)
      .join("\n"),
  );
  return await serve({ authentication: { mode: "token-table", path }, audit: { file: logFile() } });
}

/** Lines of a server that has ended. */
async function linesOf(principal: string): Promise<Readonly<Record<string, unknown>>[]> {
  const text = await readFile(logFile(), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .filter((line) => line["principal"] === principal);
}

it("every request that a token has no right to has one line, which says what it was about", async () => {
  const server = await serving("observe");
  const client = await openSocket(server.url, "observe");
  const denied: string[] = [];
  for (const [method, [letters, params]] of Object.entries(everyMethod(uriFromPath(directory)))) {
    if (letters.includes("o")) continue;
    const { error } = await client.call(method, params);
    expect(error?.data?.code).toBe("PERMISSION_DENIED");
    denied.push(method);
  }
  await client[Symbol.asyncDispose]();
  await server.close();
  const lines = await linesOf("name:observe");
  expect(lines.filter(({ event }) => event === "failed")).toEqual([]);
  const told = lines.filter(({ event }) => event === "denied");
  expect(told.map(({ method }) => method)).toEqual(denied);
  const about = (method: string) => told.find((line) => line["method"] === method);
  for (const [method, facts] of Object.entries({
    "process/start": { process: "p", argv: expect.arrayContaining(["sh"]) as unknown },
    "process/write": { process: "p" },
    "fs/readFile": { path: uriFromPath(join(directory, "file")) },
    "fs/readBlock": { handle: "h" },
    "fs/close": { handle: "h" },
    "tcp/write": { tcp: "t" },
    "capabilityRoots/discoverV1": { paths: [uriFromPath(directory)] },
    "environmentConfig/read": { path: uriFromPath(directory) },
  }))
    expect(about(method)).toMatchObject({
      ...facts,
      reason: expect.stringContaining("the token observe may not use") as unknown,
    });
});

it("settings and capabilities that were read have their lines, and only contents of files have bytes", async () => {
  const server = await serving("full");
  const client = await openSocket(server.url, "full");
  const uri = uriFromPath(directory);
  const methods = everyMethod(uri);
  await writeFile(join(directory, "file"), "12345");
  for (const method of [
    "environmentConfig/read",
    "capabilityRoots/discoverV1",
    "capabilities/discoverV2",
    "fs/readDirectory",
    "fs/hash",
    "fs/readFile",
  ] as const)
    expect(await client.call(method, methods[method][1])).toHaveProperty("result");
  await client[Symbol.asyncDispose]();
  await server.close();
  const lines = await linesOf("name:full");
  const read = lines.filter(({ event }) => !["connect", "session", "disconnect"].includes(event as string));
  expect(read.map(({ event, path, paths, bytes }) => [event, path ?? paths, bytes])).toEqual([
    ["settings", uri, undefined],
    ["discover", [uri], undefined],
    ["discover", uri, undefined],
    ["list", uri, undefined],
    ["hash", `${uri}/file`, undefined],
    ["readFile", `${uri}/file`, 5],
  ]);
});
