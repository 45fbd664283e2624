import * as z from "zod";
import { createExecTools } from "../../src/client/tools/index.ts";
import type { Host } from "../../src/client/host/host.ts";
import type { ProcessEvent } from "../../src/client/routes/process-events.ts";
import type { RemoteProcess } from "../../src/client/process/remote-process.ts";
import { EnvironmentInfo } from "../../src/protocol/environment.ts";
import { ExitReport, OutputStream, ReadResult } from "../../src/protocol/process.ts";
import { ListedProcess, TerminalScreen } from "../../src/protocol/process-extensions.ts";

// What a program does with a client, and what it may get: only members that the types have, with the right types.

/** One thing that a program asks for. */
export interface Operation {
  readonly name: string;
  /** Resolves when all its requests have settled. */
  readonly run: (host: Host, signal?: AbortSignal) => Promise<unknown>;
  readonly value: z.ZodType;
}

const count = z.number().int().nonnegative();
const bytes = z.instanceof(Uint8Array);
const date = z.instanceof(Date).refine((value) => !Number.isNaN(value.getTime()), "an invalid date");
const path = z
  .string()
  .refine(
    (value) => value.startsWith("/") && !value.split("/").some((part) => part === "." || part === ".."),
    "no absolute path",
  );
const below = (directory: string) =>
  path.refine((value) => value.startsWith(`${directory}/`), `nothing below ${directory}`);
const nothing = z.undefined();
const strict = <T extends z.ZodRawShape>(shape: T) => z.strictObject(shape);

const exit = z.strictObject({
  ...ExitReport().shape,
  exitCode: z.number().int().nullable(),
  sandboxDenied: z.boolean(),
});
const seq = z.number().int().positive();
const gap = { fromSeq: seq, toSeq: seq };
const chunk = strict({ stream: OutputStream(), bytes, seq });
const event = z.union([
  strict({ kind: z.literal("output"), ...chunk.shape }),
  z.strictObject({ kind: z.literal("exited"), seq, ...exit.shape }),
  strict({ kind: z.literal("closed"), seq }),
  strict({ kind: z.literal("gap"), seq, ...gap }),
  strict({ kind: z.literal("failed"), message: z.string(), code: z.string() }),
]);
const collected = strict({
  stdout: z.string(),
  stderr: z.string(),
  stdoutBytes: bytes,
  stderrBytes: bytes,
  stdoutOmittedBytes: count,
  stderrOmittedBytes: count,
  exitCode: z.number().int().nullable(),
  exit,
  gaps: z.array(strict(gap)),
  durationMs: z.number(),
  sandboxDenied: z.boolean(),
});
const kind = z.enum(["file", "directory", "other"]);
const size = z.number().min(0).refine(Number.isInteger);
const mode = z.number().int().min(0).max(0o7777);
const name = z
  .string()
  .refine((value) => !["", ".", ".."].includes(value) && !/[/\0]/.test(value), "no name of an entry");

const options = (signal: AbortSignal | undefined): { signal?: AbortSignal } =>
  signal === undefined ? {} : { signal };

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

/** Uses a process that stays, and ends it. Whatever else it was asked settles too. */
function withProcess(
  use: (process: RemoteProcess, signal?: AbortSignal) => Promise<unknown>,
): Operation["run"] {
  return async (host, signal) => {
    const process = await host.start(["stays"], { stdin: "pipe", ...options(signal) });
    try {
      return await use(process, signal);
    } finally {
      await process[Symbol.asyncDispose]();
    }
  };
}

const processOperations: Operation[] = [
  { name: "run", run: (host, signal) => host.run(["any"], options(signal)), value: collected },
  {
    name: "run with input",
    run: (host, signal) => host.run(["stays"], { input: "some input", ...options(signal) }),
    value: collected,
  },
  {
    name: "events of a start",
    run: async (host, signal) => {
      const process = await host.start(["any"], options(signal));
      return all<ProcessEvent>(process.events(options(signal)));
    },
    value: z.array(event),
  },
  {
    name: "output of a terminal",
    run: async (host, signal) => {
      const process = await host.terminal(["any"], { cols: 100, rows: 30, ...options(signal) });
      return all(process.output({ ...options(signal), onGap: () => {} }));
    },
    value: z.array(chunk),
  },
  {
    name: "wait",
    run: async (host, signal) => (await host.start(["any"], options(signal))).wait(options(signal)),
    value: exit,
  },
  {
    name: "exited and closed",
    run: async (host, signal) => {
      const process = await host.start(["any"], options(signal));
      const [exited, closed] = await Promise.allSettled([process.exited, process.closed]);
      if (exited.status === "rejected") throw exited.reason;
      return { exit: exited.value, closed: closed.status === "fulfilled" ? closed.value : undefined };
    },
    value: strict({ exit, closed: nothing.optional() }),
  },
  {
    name: "write",
    run: withProcess((process, signal) => process.write("x", options(signal))),
    value: nothing,
  },
  { name: "closeStdin", run: withProcess((process) => process.closeStdin()), value: nothing },
  { name: "resize", run: withProcess((process) => process.resize({ cols: 1, rows: 2 })), value: nothing },
  { name: "signal", run: withProcess((process) => process.signal("hangup")), value: nothing },
  { name: "terminate", run: withProcess((process) => process.terminate()), value: z.boolean() },
  { name: "kill", run: withProcess((process) => process.kill()), value: z.boolean() },
  {
    name: "read",
    run: withProcess((process, signal) => process.read({ afterSeq: 1, ...options(signal) })),
    value: ReadResult(),
  },
  {
    name: "snapshot",
    run: withProcess((process) => process.snapshot({ screen: true })),
    value: strict({
      running: z.boolean(),
      exitCode: z.number().int().nullable(),
      streams: z.array(
        strict({
          stream: OutputStream(),
          head: bytes,
          omittedBytes: count,
          tail: bytes,
          totalBytes: count,
          truncated: z.boolean(),
        }),
      ),
      screen: TerminalScreen().extend({ paint: bytes.optional() }).optional(),
    }),
  },
  {
    name: "communicate",
    run: withProcess((process, signal) => process.communicate("input", options(signal))),
    value: collected,
  },
  { name: "processes", run: (host) => host.processes({ usage: true }), value: z.array(ListedProcess()) },
  {
    name: "attach",
    run: async (host, signal) => all<ProcessEvent>((await host.attach("s", "p")).events(options(signal))),
    value: z.array(event),
  },
  {
    name: "attachKept",
    run: async (host, signal) => all<ProcessEvent>((await host.attachKept("kept")).events(options(signal))),
    value: z.array(event),
  },
  {
    name: "rename",
    run: async (host) => (await host.attachKept("kept", { mode: "control" })).rename("other"),
    value: nothing,
  },
  {
    name: "detach",
    run: async (host) => (await host.attachKept("kept", { mode: "control" })).detach(),
    value: nothing,
  },
  {
    name: "start and keep",
    run: async (host, signal) => {
      await using process = await host.start(["any"], { keep: "kept", ...options(signal) });
      return all<ProcessEvent>(process.events(options(signal)));
    },
    value: z.array(event),
  },
  {
    name: "adopt",
    run: async (host) => (await host.adopt("adopted")).id,
    value: z.literal("adopted"),
  },
  {
    name: "exec_command",
    run: async (host, signal) => {
      await using tools = createExecTools(host);
      return await tools.call("exec_command", { cmd: "any", yield_time_ms: 250 }, options(signal));
    },
    value: z.object({ text: z.string(), isError: z.boolean() }),
  },
];

const fileOperations: Operation[] = [
  // The copies of whole trees use these two.
  {
    name: "hash",
    run: (host, signal) => host.request("fs/hash", { path: "file:///w/f" }, options(signal)),
    value: strict({ hashes: z.array(strict({ bytes: count, sha256: z.string().optional() })) }),
  },
  {
    name: "open a part",
    run: (host, signal) =>
      host.request("fs/openPart", { handleId: "h", path: "file:///w/f", length: 1 }, options(signal)),
    value: strict({ handleId: z.string() }),
  },
  // A fleet uses it.
  {
    name: "cordon",
    run: (host, signal) => host.request("server/cordon", { cordoned: true }, options(signal)),
    value: strict({}),
  },
  { name: "read", run: ({ files }, signal) => files.read("/w/f", options(signal)), value: bytes },
  {
    name: "read a large file",
    run: async ({ files }, signal) => (await files.read("/w/big", options(signal))).length,
    // All of it, or an error.
    value: z.union([z.literal(5.5 * 1024 * 1024), z.literal(4)]),
  },
  {
    name: "readText",
    run: ({ files }, signal) => files.readText("/w/f", options(signal)),
    value: z.string(),
  },
  { name: "write", run: ({ files }, signal) => files.write("/w/f", "x", options(signal)), value: nothing },
  {
    name: "writeStream",
    run: ({ files }, signal) => files.writeStream("/w/f", [new Uint8Array(3_000_000)], options(signal)),
    value: z.literal(3_000_000),
  },
  {
    name: "writeBlob",
    run: ({ files }, signal) => files.writeBlob("/w/f", new Blob(["x".repeat(3_000_000)]), options(signal)),
    value: nothing,
  },
  {
    name: "readStream that is resumed",
    run: ({ files }, signal) => all(files.readStream("/w/f", { resume: true, ...options(signal) })),
    value: z.array(bytes),
  },
  {
    name: "list",
    run: ({ files }, signal) => files.list("/w/d", options(signal)),
    value: z.array(strict({ name, kind })),
  },
  {
    name: "listDetails",
    run: ({ files }, signal) => files.listDetails("/w/d", options(signal)),
    value: z.array(
      strict({
        name,
        kind: z.enum(["file", "directory", "link", "other"]),
        size,
        mode,
        modified: date.or(nothing),
        special: z.enum(["pipe", "socket", "block device", "character device"]).optional(),
      }),
    ),
  },
  {
    name: "write with a mode",
    run: ({ files }, signal) => files.write("/w/f", "x", { mode: 0o600, ...options(signal) }),
    value: nothing,
  },
  {
    name: "writeStream with a mode",
    run: ({ files }, signal) =>
      files.writeStream("/w/f", [new Uint8Array(3)], { mode: 0o4700, ...options(signal) }),
    value: z.literal(3),
  },
  { name: "chmod", run: ({ files }, signal) => files.chmod("/w/f", 0o600, options(signal)), value: nothing },
  {
    name: "symlink",
    run: ({ files }, signal) => files.symlink("f", "/w/l", { replace: true, ...options(signal) }),
    value: nothing,
  },
  {
    name: "readLink",
    run: ({ files }, signal) => files.readLink("/w/l", options(signal)),
    value: z.string(),
  },
  {
    name: "stat",
    run: ({ files }, signal) => files.stat("/w/f", options(signal)),
    value: strict({
      kind,
      isSymlink: z.boolean(),
      size,
      mode: mode.optional(),
      modified: date,
      created: date.optional(),
    }),
  },
  { name: "exists", run: ({ files }, signal) => files.exists("/w/f", options(signal)), value: z.boolean() },
  { name: "mkdir", run: ({ files }, signal) => files.mkdir("/w/d", options(signal)), value: nothing },
  { name: "remove", run: ({ files }, signal) => files.remove("/w/d", options(signal)), value: nothing },
  {
    name: "rename",
    run: ({ files }, signal) => files.rename("/w/a", "/w/b", options(signal)),
    value: nothing,
  },
  {
    name: "transfer",
    run: ({ files }, signal) =>
      files.transfer("/w/big", files, "/w/copy", { resume: true, verify: true, ...options(signal) }),
    value: strict({
      files: z.literal(1),
      directories: z.literal(0),
      links: z.literal(0),
      bytes: size,
      keptBytes: size,
      skipped: z.array(z.string()).length(0),
      verified: z.literal(true),
    }),
  },
  {
    name: "mirror",
    run: ({ files }, signal) =>
      files.transfer("/w/d", files, "/w/copy", { mirror: { delete: true, only: ["a"] }, ...options(signal) }),
    value: strict({
      files: size,
      directories: size,
      links: size,
      bytes: size,
      keptBytes: size,
      same: size,
      deleted: size,
      skipped: z.array(z.string()),
    }),
  },
  { name: "copy", run: ({ files }, signal) => files.copy("/w/a", "/w/b", options(signal)), value: nothing },
  { name: "realpath", run: ({ files }, signal) => files.realpath("/w/a", options(signal)), value: path },
  {
    name: "walk",
    run: ({ files }, signal) => files.walk("/w/d", options(signal)),
    value: strict({
      entries: z.array(strict({ path: below("/w/d"), kind: z.enum(["file", "directory"]) })),
      errors: z.array(strict({ path: z.union([z.literal("/w/d"), below("/w/d")]), message: z.string() })),
      truncated: z.boolean(),
    }),
  },
  {
    name: "watch",
    run: async ({ files }, signal) => all(await files.watch("/w/d", options(signal))),
    value: z.array(
      strict({ paths: z.array(z.union([z.literal("/w/d"), below("/w/d")])), overflow: z.boolean() }),
    ),
  },
];

const httpOperations: Operation[] = [
  {
    name: "fetch",
    run: async (host, signal) => {
      const response = await host.fetch("http://upstream.test/", options(signal));
      const { status, url, headers } = response;
      return { status, url, type: headers.get("content-type"), text: await response.text() };
    },
    value: strict({
      status: z.number().int().min(200).max(599),
      url: z.literal("http://upstream.test/"),
      type: z.string().nullable(),
      text: z.string(),
    }),
  },
  {
    name: "a TCP connection",
    run: async (host, signal) => {
      await using connection = await host.connectTcp("upstream.test", 80, options(signal));
      await connection.writable.getWriter().write(new Uint8Array(3));
      const { value } = await connection.readable.getReader().read();
      return { remote: connection.remote, read: value };
    },
    value: strict({ remote: strict({ address: z.string(), port: count }), read: bytes.optional() }),
  },
  {
    name: "a Unix socket",
    run: async (host, signal) => {
      await using connection = await host.connectUnix("/run/upstream.sock", options(signal));
      return connection.remote;
    },
    value: strict({ address: z.literal("/run/upstream.sock"), port: z.literal(0) }),
  },
  {
    name: "a listener",
    run: async (host, signal) => {
      await using listener = await host.listenTcp(0, options(signal));
      for await (const { remote } of listener) return { local: listener.local, remote };
      return undefined;
    },
    value: strict({
      local: strict({ address: z.string(), port: count }),
      remote: strict({ address: z.string(), port: count }),
    }),
  },
  {
    name: "a Unix socket that listens",
    run: async (host, signal) => {
      await using listener = await host.listenUnix("/run/new.sock", options(signal));
      return listener.local;
    },
    value: strict({ address: z.literal("/run/new.sock"), port: z.literal(0) }),
  },
  {
    name: "a fetch whose body is left",
    run: async (host, signal) => {
      const response = await host.fetch("http://upstream.test/", options(signal));
      await response.body?.cancel();
      return response.ok;
    },
    value: z.boolean(),
  },
];

/** Everything that is promised by the host itself. */
export const hostValue = z.object({
  sessionId: z.string(),
  environment: EnvironmentInfo().optional(),
  state: z.enum(["connected", "recovering", "closed"]),
});

export const operations: readonly Operation[] = [
  ...processOperations.map((operation) => ({ ...operation, name: `process: ${operation.name}` })),
  ...fileOperations.map((operation) => ({ ...operation, name: `files: ${operation.name}` })),
  ...httpOperations.map((operation) => ({ ...operation, name: `http: ${operation.name}` })),
];
