import { createHash } from "node:crypto";
import { mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
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

const tablePath = (): string => join(directory, "tokens.toml");

/** A token for each of these presets, which is also its name. */
async function writeTable(...presets: readonly string[]): Promise<void> {
  const sha256 = (token: string): string => createHash("sha256").update(token).digest("hex");
  const entries = presets.map(
    (name) => `[[token]]\nname = "${name}"\nsha256 = "${sha256(name)}"\npreset = "${name}"\n`,
  );
  await writeFile(`${tablePath()}.new`, entries.join("\n"));
  await rename(`${tablePath()}.new`, tablePath());
}

async function serving(...presets: readonly string[]): Promise<ListeningServer> {
  await writeTable(...presets);
  const authentication = { mode: "token-table", path: tablePath() } as const;
  return await serve({ authentication, audit: { file: logFile() } });
}

/** Whole lines. */
async function linesOf(principal: string): Promise<Readonly<Record<string, unknown>>[]> {
  const text = await readFile(logFile(), "utf8");
  return text
    .split("\n")
    .slice(0, -1)
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
  const denials = lines.filter(({ event }) => event === "denied");
  expect(denials.map(({ method }) => method)).toEqual(denied);
  const about = (method: string) => denials.find((line) => line["method"] === method);
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

it("the end of a token, and whose process was attached to, are in the log", async () => {
  const server = await serving("full", "observe");
  const client = await openSocket(server.url, "full");
  await client.call("process/attach", { name: "web", owner: "name:observe", mode: "control" });
  await writeTable("observe");
  expect(await client.closed).toBe(4011);
  const reason = "the token was revoked, or its rights have changed";
  await vi.waitFor(
    async () => expect((await linesOf("name:full")).at(-1)).toMatchObject({ event: "disconnect", reason }),
    { timeout: 60_000 },
  );
  await server.close();
  const attached = (await linesOf("name:full")).find(({ event }) => event === "attach");
  expect(attached).toMatchObject({ name: "web", owner: "name:observe" });
});

it("who has cordoned a server is in the log", async () => {
  const server = await serving("full");
  const client = await openSocket(server.url, "full");
  for (const cordoned of [true, false])
    expect(await client.call("server/cordon", { cordoned })).toHaveProperty("result");
  await client[Symbol.asyncDispose]();
  await server.close();
  const denials = (await linesOf("name:full")).filter(({ event }) => event === "cordon");
  expect(denials.map(({ cordoned }) => cordoned)).toEqual([true, false]);
});

it("a full token can read the last lines of the log, which hold that it did", async () => {
  await using server = await serving("full");
  await using client = await openSocket(server.url, "full");
  const read = async (params: object) =>
    (await client.call("server/audit", params)).result as unknown as AuditTail;
  await expect.poll(async () => (await read({})).lines.length, { timeout: 60_000 }).toBeGreaterThan(4);
  const { file, lines, written, head, lost, failing } = await read({ maxLines: 2 });
  expect({ file, lost, failing }).toEqual({ file: logFile(), lost: 0, failing: false });
  expect(lines).toHaveLength(2);
  for (const line of lines)
    expect(JSON.parse(line)).toMatchObject({ event: "readAudit", principal: "name:full" });
  expect(head).toMatch(new RegExp(`^${written}:[0-9a-f]{64}$`));
  expect((await read({ maxLines: 0 })).lines).toEqual([]);
});

interface AuditTail {
  readonly file: string;
  readonly lines: readonly string[];
  readonly written: number;
  readonly head: string;
  readonly lost: number;
  readonly failing: boolean;
}
