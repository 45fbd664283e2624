import { createHash } from "node:crypto";
import type * as z from "zod";
import { methods, notifications } from "../../src/protocol/index.ts";
import { createMemoryPair } from "../../src/transport/memory.ts";
import type { Transport } from "../../src/transport/transport.ts";
import { textOf } from "./wire-mutations.ts";

const MIB = 1024 * 1024;
const base64 = (data: string | Uint8Array): string => Buffer.from(data).toString("base64");

type Fields = Record<string, unknown>;

/** How a server changes its honest messages before it sends them. */
export interface Tampering {
  /** Replaces the `nth` answer of a method; `SILENCE` sends none. */
  result?(method: string, nth: number, honest: unknown): unknown;
  /** The same for the params of a notification; a list is sent one by one. */
  params?(method: string, nth: number, honest: Fields): readonly unknown[];
  /** Called for every message in either direction before it is acted on. */
  moment?(index: number): void;
}

/** The part of a transport that a server of few words needs. */
export type ServedTransport = Pick<Transport, "open" | "send" | "destroy"> &
  Partial<Pick<Transport, "pause">>;

export const SILENCE = Symbol("silence");

const EXTENSIONS = [
  "process/closeStdin",
  "process/resize",
  "process/flow",
  "process/snapshot",
  "process/list",
  "process/rename",
  "process/list.after",
  "process/list.usage",
  "process/attach",
  "process/signal.signal",
  "process/terminate.mode",
  "process/start.idempotencyKey",
  "process/start.keep",
  "process/start.terminalSize",
  "fs/chmod",
  "fs/getMetadata.includeMode",
  "fs/hash",
  "fs/openPart",
  "fs/readDirectory.detailed",
  "fs/readFile.maxBytes",
  "fs/readLink",
  "fs/rename",
  "fs/symlink",
  "fs/writeFile.mode",
  "fs/watch",
  "http/cancel",
  "http/flow",
  "tcp/connect",
  "tcp/listen",
  "unix/connect",
  "unix/listen",
];

interface ScriptedProcess {
  readonly id: string;
  readonly log: { readonly method: string; readonly params: Fields }[];
  exitCode: number | null;
  closed: boolean;
}

/**
 * A server that knows the protocol and does nothing, and a way to make it lie. One session, over any number of
 * connections.
 */
export class ScriptedServer {
  /** Honest messages by method: the first answers and notifications. */
  readonly results = new Map<string, unknown>();
  readonly told = new Map<string, Fields>();
  readonly #tampering: Tampering;
  readonly #processes = new Map<string, ScriptedProcess>();
  readonly #counts = new Map<string, number>();
  #moments = 0;
  #connection: ServedTransport | undefined;

  constructor(tampering: Tampering = {}) {
    this.#tampering = tampering;
  }

  /** A target for `connect`. */
  readonly open = async (): Promise<Transport> => {
    const [ours, theirs] = createMemoryPair();
    this.serve(theirs);
    return ours;
  };

  serve(transport: ServedTransport): void {
    this.#connection = transport;
    transport.open({
      message: (text) => this.#hear(transport, text),
      drain: () => {},
      close: () => {
        if (this.#connection === transport) this.#connection = undefined;
      },
    });
  }

  /** Sends an unsolicited message, or cuts the connection. */
  say(message: unknown): void {
    this.#connection?.send(textOf(message));
  }

  /** Reads no more. */
  deafen(): void {
    this.#connection?.pause?.();
  }

  cut(): void {
    this.#connection?.destroy();
  }

  #hear(transport: ServedTransport, text: string): void {
    this.#moment();
    const { id, method, params } = JSON.parse(text) as { id?: number; method?: string; params?: Fields };
    if (id === undefined || method === undefined) return;
    const honest = this.#answer(method, params ?? {});
    this.results.set(method, this.results.get(method) ?? honest.result);
    const nth = this.#count(method);
    const tampering = this.#tampering;
    const result =
      tampering.result === undefined ? honest.result : tampering.result(method, nth, honest.result);
    this.#moment();
    if (result !== SILENCE) transport.send(textOf({ id, result }));
    honest.after?.();
  }

  #count(name: string): number {
    const nth = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, nth);
    return nth;
  }

  #moment(): void {
    this.#moments += 1;
    this.#tampering.moment?.(this.#moments);
  }

  notify(method: string, params: Fields): void {
    this.told.set(method, this.told.get(method) ?? params);
    const nth = this.#count(method);
    const told = this.#tampering.params?.(method, nth, params) ?? [params];
    for (const params of told) {
      this.#moment();
      this.say({ method, params });
    }
  }

  // Processes.

  #start(id: string): ScriptedProcess {
    const process: ScriptedProcess = { id, log: [], exitCode: null, closed: false };
    this.#processes.set(id, process);
    return process;
  }

  #event(process: ScriptedProcess, method: string, fields: Fields): void {
    const params = { processId: process.id, seq: process.log.length + 1, ...fields };
    process.log.push({ method, params });
    this.notify(method, params);
  }

  #write(process: ScriptedProcess, stream: string, text: string): void {
    if (!process.closed) this.#event(process, "process/output", { stream, chunk: base64(text) });
  }

  #end(process: ScriptedProcess, exitCode: number): void {
    if (process.closed) return;
    process.exitCode = exitCode;
    const exit = { signal: "SIGKILL", killedBy: "client", cpuTimeMs: { user: 1, system: 2.5 } };
    this.#event(process, "process/exited", { exitCode, sandboxDenied: false, exit });
    process.closed = true;
    this.#event(process, "process/closed", {});
  }

  #run(process: ScriptedProcess, argv: readonly string[]): void {
    this.#write(process, "stdout", "one\n");
    this.#write(process, "stderr", "two\n");
    this.#write(process, "stdout", "three\n");
    if (argv[0] !== "stays") this.#end(process, 3);
  }

  #read(process: ScriptedProcess | undefined, afterSeq: number): Fields {
    const log = process?.log ?? [];
    const chunks = log
      .filter(({ method, params }) => method === "process/output" && (params["seq"] as number) > afterSeq)
      .map(({ params: { seq, stream, chunk } }) => ({ seq, stream, chunk }));
    return {
      chunks,
      nextSeq: log.length + 1,
      exited: process !== undefined && process.exitCode !== null,
      exitCode: process?.exitCode ?? null,
      closed: process?.closed ?? false,
      failure: null,
      sandboxDenied: false,
    };
  }

  // Answers, and what follows them.

  #answer(method: string, params: Fields): { result: unknown; after?: () => void } {
    const process = this.#processes.get(params["processId"] as string);
    switch (method) {
      case "initialize":
        return { result: { sessionId: "session-1", environmentInfo: ENVIRONMENT } };
      case "environment/info":
        return { result: ENVIRONMENT };
      case "process/start": {
        const { processId, argv } = params as { processId: string; argv: string[] };
        const result = { processId, sandboxType: "none" };
        this.notify("process/started", { processId, pid: 7 });
        // A start that is repeated starts nothing.
        if (process !== undefined) return { result };
        const started = this.#start(processId);
        return { result, after: () => this.#run(started, argv) };
      }
      case "process/attach": {
        const id = params["as"] as string;
        const started = this.#start(id);
        const kept = params["name"] === undefined ? {} : { name: params["name"], firstSeq: 1 };
        const result = { processId: id, nextSeq: 1, tty: false, exited: false, closed: false, ...kept };
        const gap = { processId: id, fromSeq: 1, toSeq: 1 };
        return {
          result,
          after: () => {
            this.notify("process/gap", gap);
            this.#run(started, []);
          },
        };
      }
      case "process/read":
        return { result: this.#read(process, (params["afterSeq"] as number | null) ?? 0) };
      case "process/write":
        return { result: { status: "accepted" } };
      case "process/closeStdin":
        return { result: {}, after: () => process && this.#end(process, 0) };
      case "process/terminate":
        return { result: { running: true }, after: () => process && this.#end(process, 137) };
      case "process/snapshot":
        return { result: SNAPSHOT };
      case "process/list":
        return { result: { processes: [LISTED] } };
      case "fs/watch": {
        const changed = { watchId: params["watchId"], paths: ["file:///w/d/a"], overflow: false };
        return {
          result: {},
          after: () => {
            if (params["path"] === "file:///w/stays") return;
            this.notify("fs/watch/changed", { ...changed, ended: false });
            this.notify("fs/watch/changed", { ...changed, paths: ["file:///w/d"], ended: true });
          },
        };
      }
      case "http/request":
        if (params["url"] === "http://upstream.test/stays") return { result: HEAD };
        return { result: HEAD, after: () => this.#sendBody(params["requestId"] as string) };
      case "tcp/connect":
        return { result: { address: "127.0.0.1", port: 80 } };
      case "tcp/listen":
      case "tcp/accept":
        return { result: { address: "127.0.0.1", port: 4_000 } };
      case "unix/connect":
      case "unix/listen":
      case "tcp/unlisten":
        return { result: {} };
      case "tcp/read":
        return { result: { chunk: base64("tcp"), ended: false } };
      default:
        return { result: fileAnswer(method, params) };
    }
  }

  #sendBody(requestId: string): void {
    const delta = { requestId, done: false, error: null };
    this.notify("http/request/bodyDelta", { ...delta, seq: 1, deltaBase64: base64("the ") });
    this.notify("http/request/bodyDelta", { ...delta, seq: 2, deltaBase64: base64("body") });
    this.notify("http/request/bodyDelta", { ...delta, seq: 3, deltaBase64: "", done: true });
  }
}

const ENVIRONMENT = {
  shell: { name: "sh", path: "/bin/sh" },
  cwd: "file:///w",
  platformOs: "linux",
  prependPathDirs: ["file:///tools"],
  capabilities: { fileWriteStreaming: true },
  extensions: EXTENSIONS,
};

const SNAPSHOT = {
  streams: [{ stream: "stdout", head: base64("ab"), omittedBytes: 3, tail: base64("c"), totalBytes: 6 }],
  running: true,
  exitCode: null,
  screen: {
    lines: ["ab"],
    cursor: { row: 0, col: 2 },
    complete: true,
    nextSeq: 3,
    size: { rows: 1, cols: 2 },
    paint: base64("ab"),
  },
};

const LISTED = {
  processId: "p",
  own: true,
  pid: 7,
  argv: ["any"],
  cwd: "file:///w",
  label: null,
  tty: false,
  startedAtMs: 1,
  state: "running",
  exitCode: null,
  outputBytes: 1,
  retainedBytes: 1,
  usage: { cpuMs: 1.5, memoryBytes: 1, processes: 1, atMs: 1 },
};

const HEAD = {
  status: 200,
  headers: [
    { name: "content-type", value: "text/plain" },
    { name: "content-length", value: "8" },
  ],
  bodyBase64: "",
};

/** `/w/big` has five blocks and a half. */
const BIG_BYTES = 5 * MIB + MIB / 2;
const BLOCK = new Uint8Array(MIB);

function fileAnswer(method: string, params: Fields): unknown {
  const path = String(params["path"]);
  switch (method) {
    case "fs/getMetadata": {
      const size = path.endsWith("big") ? BIG_BYTES : 4;
      const times = { createdAtMs: 5, modifiedAtMs: 6 };
      return { isDirectory: false, isFile: true, isSymlink: false, size, ...times, mode: 0o644 };
    }
    case "fs/readFile":
      return path.endsWith("big") ? { dataBase64: "", size: BIG_BYTES } : { dataBase64: base64("file") };
    case "fs/hash": {
      const { names, length = 4 } = params as { names?: string[]; length?: number };
      const sha256 = createHash("sha256").update(new Uint8Array(length)).digest("hex");
      return { hashes: (names ?? [""]).map(() => ({ bytes: length, sha256 })) };
    }
    case "fs/open":
    case "fs/openPart":
      return { handleId: params["handleId"] };
    case "fs/readBlock": {
      const { offset, len } = params as { offset: number; len: number };
      const length = Math.max(0, Math.min(len, BIG_BYTES - offset));
      return { chunk: base64(BLOCK.subarray(0, length)), eof: length < len };
    }
    case "fs/canonicalize":
      return { path: "file:///w/real" };
    case "fs/readDirectory": {
      const isDetailed = params["detailed"] === true;
      const details = isDetailed ? { isSymlink: false, mode: 0o644, size: 4, modifiedAtMs: 1e12 } : {};
      return {
        entries: [
          { fileName: "a", isDirectory: false, isFile: true, ...details },
          { fileName: "b", isDirectory: true, isFile: false, ...details },
          ...(isDetailed
            ? [{ fileName: "c", isDirectory: false, isFile: false, ...details, special: "socket" }]
            : []),
        ],
      };
    }
    case "fs/readLink":
      return { target: "f" };
    case "fs/walk":
      return {
        entries: [
          { path: "file:///w/d/a", kind: "file" },
          { path: "file:///w/d/b", kind: "directory" },
        ],
        errors: [{ path: "file:///w/d/c", message: "Permission denied (os error 13)" }],
        truncated: false,
      };
    default:
      return {};
  }
}

/** The schema of an answer, by its method. */
export function resultSchema(method: string): z.ZodType {
  return methods[method as keyof typeof methods].result;
}

/** The schema of what a notification carries. */
export function paramsSchema(method: string): z.ZodType {
  return notifications[method as keyof typeof notifications].params;
}
