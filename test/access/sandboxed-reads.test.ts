import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { uriFromPath } from "../../src/base/file-uri.ts";
import { runSeed } from "../fault/seeded-random.ts";
import { openStdio, type RawClient } from "./raw-client.ts";

// Whatever a file call answers under a policy, a process under the same policy finds out, too.

const NOBODY = 65_534;
const PATHS = 150;

let directory: string;
let shared: string;
let socket: Server;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "sandboxed-reads-"));
  chmodSync(directory, 0o755);
  shared = `/dev/shm/${basename(directory)}`;
  const made = (path: string, { mode = 0o644, owner = 0 } = {}): void => {
    writeFileSync(path, `contents of ${path}`);
    chmodSync(path, mode);
    chownSync(path, owner, owner);
  };
  for (const name of ["work", "theirs", "ours", "hidden", "config"]) mkdirSync(at(name));
  for (const parent of ["work", "theirs", "ours"]) {
    mkdirSync(at(`${parent}/d`));
    for (const [name, owner] of [
      ["root", 0],
      ["nobody", NOBODY],
    ] as const)
      for (const mode of [0o644, 0o600, 0o000])
        made(at(`${parent}/${name}-${mode.toString(8)}`), { mode, owner });
  }
  made(at("hidden/secret"));
  chownSync(at("theirs"), NOBODY, NOBODY);
  chmodSync(at("theirs"), 0o700);
  mkdirSync(shared);
  made(`${shared}/f`);
  for (const [name, target] of Object.entries(LINKS)) symlinkSync(target(), at(`work/${name}`));
  socket = createServer().listen(at("work/socket"));
});
afterAll(() => {
  socket.close();
  rmSync(directory, { recursive: true });
  rmSync(shared, { recursive: true });
});

const at = (name: string): string => join(directory, name);

const LINKS: Readonly<Record<string, () => string>> = {
  "to-theirs": () => "../theirs",
  "to-locked": () => at("theirs/nobody-644"),
  "to-hidden": () => "../hidden",
  "to-shared": () => shared,
  "to-shared-file": () => `${shared}/f`,
  "to-self": () => "/proc/self",
  "to-root": () => "/proc/self/root",
  "to-nothing": () => "none",
  "to-itself": () => "to-itself",
};

const POLICIES: Readonly<Record<string, () => string>> = {
  "that reads everything": () => `write = [${JSON.stringify(at("work"))}]`,
  "that hides something": () =>
    `write = [${JSON.stringify(at("work"))}]\ndeny = [${JSON.stringify(at("hidden"))}]`,
  "that shows little": () =>
    `read = [${JSON.stringify(at("ours"))}]\nwrite = [${JSON.stringify(at("work"))}]`,
};

const names = (): string[] => [
  "",
  "f",
  "d",
  "none",
  "socket",
  "secret",
  ...["root", "nobody"].flatMap((owner) => ["644", "600", "0"].map((mode) => `${owner}-${mode}`)),
];
const places = (): string[] => [
  ...["work", "theirs", "ours", "hidden", "config"].map(at),
  ...Object.keys(LINKS).map((name) => at(`work/${name}`)),
  shared,
  "/dev",
  "/dev/shm",
  "/etc",
  "/proc/sys/kernel",
  "/sys/kernel",
  at("theirs/d/.."),
];
const FIXED = [
  "/etc/shadow",
  "/etc/passwd",
  "/dev/null",
  "/dev/full",
  "/dev/tty",
  "/dev/.exec-server-stage",
  "/proc/1/environ",
  "/proc/1/cmdline",
  "/proc/meminfo",
  "/proc/sys/kernel/ostype",
  "/proc/kcore",
  "/sys/kernel/mm/transparent_hugepage/enabled",
  "/root",
  "/",
];

interface Found {
  /** Contents in base64. */
  readonly contents: string | undefined;
  /** Kind, and the size of a file. */
  readonly metadata: string | undefined;
  readonly entries: string | undefined;
  readonly real: string | undefined;
}

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

async function byCalls(client: RawClient, path: string): Promise<Found> {
  const ask = async (method: string) => (await client.call(method, { path: uriFromPath(path) })).result;
  const [contents, metadata, listed, real] = [
    await ask("fs/readFile"),
    await ask("fs/getMetadata"),
    await ask("fs/readDirectory"),
    await ask("fs/canonicalize"),
  ];
  const entries = listed?.["entries"] as { fileName: string }[] | undefined;
  const kind = metadata?.["isFile"] ? "file" : metadata?.["isDirectory"] ? "directory" : "other";
  return {
    contents: text(contents?.["dataBase64"]),
    metadata: metadata && `${kind} ${kind === "file" ? String(metadata["size"]) : ""}`,
    entries: entries
      ?.map(({ fileName }) => fileName)
      .toSorted()
      .join(),
    real: text(real?.["path"]),
  };
}

/** One process for all paths, which come in on its arguments; it prints four lines of JSON for each. */
const SCRIPT = String.raw`
use MIME::Base64; use Cwd qw(realpath); use JSON::PP; my $json = JSON::PP->new->allow_nonref->latin1;
for my $path (@ARGV) {
  my ($contents, $metadata, $entries);
  if (-f $path && open(my $in, "<:raw", $path)) { local $/; my $got = <$in>; $contents = encode_base64($got, "") if defined $got }
  if (my @s = stat $path) { $metadata = -f _ ? "file $s[7]" : -d _ ? "directory " : "other " }
  if (opendir(my $in, $path)) { $entries = [sort grep { -e "$path/$_" } grep { !/^\.\.?$/ } readdir $in] }
  my $real = -e $path ? realpath($path) : undef;
  print $json->encode([$contents, $metadata, defined $entries ? join(",", @$entries) : undef, $real]), "\n";
}`;

async function byProcess(client: RawClient, paths: readonly string[]): Promise<Found[]> {
  const { error } = await client.call("process/start", {
    processId: "p",
    argv: ["perl", "-e", SCRIPT, ...paths],
    cwd: uriFromPath("/"),
    env: { PATH: process.env["PATH"] },
    tty: false,
    pipeStdin: false,
    arg0: null,
  });
  expect(error).toBeUndefined();
  let output = "";
  for (let after = 0, closed = false; !closed; ) {
    const { result } = await client.call("process/read", { processId: "p", afterSeq: after, waitMs: 10_000 });
    const {
      chunks,
      nextSeq,
      closed: isClosed,
    } = result as unknown as {
      chunks: { chunk: string }[];
      nextSeq: number;
      closed: boolean;
    };
    for (const { chunk } of chunks) output += Buffer.from(chunk, "base64").toString("latin1");
    after = nextSeq - 1;
    closed = isClosed;
  }
  const lines = output.trim().split("\n");
  expect(lines, output.slice(-2000)).toHaveLength(paths.length);
  return lines.map((line) => {
    const [contents, metadata, entries, real] = JSON.parse(line) as (string | null)[];
    return {
      contents: contents ?? undefined,
      metadata: metadata ?? undefined,
      entries: entries ?? undefined,
      real: real === null || real === undefined ? undefined : uriFromPath(real),
    };
  });
}

/** What differs from one look to the next, or from one process to another, is there for both, but not the same. */
const isOfProcess = (path: string): boolean =>
  /^\/proc|to-self|to-root/.test(path) || path.startsWith("/dev");

it.each(Object.entries(POLICIES))(
  "a file call answers no more than a process, under a policy %s",
  async (_, toml) => {
    // In its own directory, which is hidden with it.
    const config = at("config/config.toml");
    writeFileSync(config, `[sandbox]\n${toml()}\n`);
    await using client = await openStdio(["--config", config]);
    const path = fc
      .tuple(fc.constantFrom(...places()), fc.constantFrom(...names()))
      .map(([place, name]) => (name === "" ? place : `${place}/${name}`));
    const generated = fc.sample(path, { numRuns: PATHS, seed: runSeed });
    const paths = [...new Set([...FIXED, ...places(), `${shared}/f`, at("theirs/nobody-644"), ...generated])];
    const inside = await byProcess(client, paths);
    const wrong: unknown[] = [];
    for (const [index, each] of paths.entries()) {
      const called = await byCalls(client, each);
      const found = inside[index]!;
      for (const aspect of ["contents", "metadata", "entries", "real"] as const) {
        const isSame = isOfProcess(each) ? found[aspect] !== undefined : found[aspect] === called[aspect];
        if (called[aspect] !== undefined && !isSame)
          wrong.push([each, aspect, called[aspect], found[aspect]]);
      }
    }
    expect(wrong).toEqual([]);
    // It says enough to be a comparison.
    expect(inside.filter(({ contents }) => contents !== undefined).length).toBeGreaterThan(5);
  },
);
