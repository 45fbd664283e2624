import { existsSync, readFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect } from "vitest";
import { pollUntil } from "../fault/deadline.ts";
import type { Message, RawPeer } from "./raw-peer.ts";
import { base64, start } from "./verifies.ts";

export interface ProcessEvent {
  kind: "output" | "exited" | "closed";
  seq: number;
  stream?: string;
  bytes?: Buffer;
  exitCode?: number;
  sandboxDenied?: boolean;
}

/** Everything a process said, from its first event to `closed`. */
export interface ProcessRun {
  /** In the order of seq, which is not always the order of arrival. */
  events: ProcessEvent[];
  exitCode: number | undefined;
  sandboxDenied: boolean | undefined;
  stdout: Buffer;
  stderr: Buffer;
  pty: Buffer;
}

const EVENTS_TIMEOUT_MS = 25_000;
const GONE_TIMEOUT_MS = 20_000;

/** The events of one process received so far, in the order of arrival. */
export function arrivedEvents(peer: RawPeer, processId: string): ProcessEvent[] {
  return peer.notifications
    .filter((message) => isEventOf(message, processId))
    .map(({ method, params }) => ({
      kind: method?.slice("process/".length) as ProcessEvent["kind"],
      seq: params.seq,
      ...(params.stream !== undefined && { stream: params.stream }),
      ...(params.chunk !== undefined && { bytes: Buffer.from(params.chunk, "base64") }),
      ...(params.exitCode !== undefined && { exitCode: params.exitCode }),
      ...(params.sandboxDenied !== undefined && { sandboxDenied: params.sandboxDenied }),
    }));
}

/** Waits until the process is closed and every event before that has come. */
export async function collect(
  peer: RawPeer,
  processId: string,
  timeoutMs = EVENTS_TIMEOUT_MS,
): Promise<ProcessRun> {
  const closed = await peer.nextNotification("process/closed", processId, timeoutMs);
  while (arrivedEvents(peer, processId).length < closed.params.seq) {
    await peer.next((message) => isEventOf(message, processId), timeoutMs, `events of ${processId}`);
  }
  const events = arrivedEvents(peer, processId).sort((a, b) => a.seq - b.seq);
  const exited = events.find((event) => event.kind === "exited");
  return {
    events,
    exitCode: exited?.exitCode,
    sandboxDenied: exited?.sandboxDenied,
    stdout: bytesOf(events, "stdout"),
    stderr: bytesOf(events, "stderr"),
    pty: bytesOf(events, "pty"),
  };
}

/** Starts a process and waits for its end. */
export async function run(
  peer: RawPeer,
  processId: string,
  argv: readonly string[],
  overrides: Record<string, unknown> = {},
): Promise<ProcessRun> {
  await peer.request("process/start", start(processId, argv, overrides));
  return collect(peer, processId);
}

/** Starts a process and returns its output of all streams as text. */
export async function outputOf(
  peer: RawPeer,
  processId: string,
  argv: readonly string[],
  overrides: Record<string, unknown> = {},
): Promise<string> {
  const { stdout, stderr, pty } = await run(peer, processId, argv, overrides);
  return Buffer.concat([stdout, stderr, pty]).toString();
}

/** Waits until the output of a process, all streams together, matches; returns it. */
export async function untilOutput(
  peer: RawPeer,
  processId: string,
  pattern: RegExp,
  timeoutMs = EVENTS_TIMEOUT_MS,
): Promise<string> {
  const isOutput = ({ method, params }: Message) =>
    method === "process/output" && params.processId === processId;
  let text = "";
  for (let looked = 0; ; ) {
    const arrived = peer.notifications.slice(looked);
    looked += arrived.length;
    for (const { params } of arrived.filter(isOutput)) text += Buffer.from(params.chunk, "base64").toString();
    if (pattern.test(text)) return text;
    await peer.next(
      isOutput,
      timeoutMs,
      `output of ${processId} that matches ${pattern}; so far ${JSON.stringify(text.slice(-1000))}`,
    );
  }
}

/** Waits for a process to print a line with nothing but a number; returns the number. */
export async function untilNumber(peer: RawPeer, processId: string): Promise<number> {
  const text = await untilOutput(peer, processId, /^\d+\r?\n/);
  return Number.parseInt(text, 10);
}

/** Path of a program in test/fixtures. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
}

/**
 * Starts a shell that leaves a child in its group and on its stdout, and waits for the shell's exit. The child
 * prints each signal it gets; SIGUSR1 ends it. Returns the child's pid.
 */
export async function leaveChildBehind(peer: RawPeer, processId: string): Promise<number> {
  const argv = [...shell('"$0" "$1" & read line; exit 3'), process.execPath, fixture("tell-signals.mjs")];
  await peer.request("process/start", start(processId, argv, { pipeStdin: true }));
  const pid = await untilNumber(peer, processId);
  await write(peer, processId, "\n");
  await peer.nextNotification("process/exited", processId);
  return pid;
}

/** What this project's server adds to the end of a small process that nothing killed. */
export const exitReport = {
  cpuTimeMs: { user: expect.any(Number), system: expect.any(Number) },
};

/**
 * Signals 32 and 33 belong to the C library, whose posix_spawn sets them to be ignored until the program's own takes
 * them.
 */
export const LIBRARY_SIGNALS = 0b11n << 31n;

let lastWriteId = 0;

/** Writes under an id never used before. */
export async function write(peer: RawPeer, processId: string, data: string | Uint8Array): Promise<unknown> {
  const writeId = `write-${++lastWriteId}`;
  return peer.request("process/write", { processId, chunk: base64(data), writeId });
}

export function read(peer: RawPeer, processId: string, options: Record<string, unknown> = {}) {
  return peer.request("process/read", { processId, ...options });
}

/** The argument vector of a shell that runs this script. */
export function shell(script: string): string[] {
  return ["/bin/sh", "-c", script];
}

/** Whether a process of this machine runs. A zombie does not: reaping orphans is not the server's job. */
export function isRunning(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return false;
  try {
    const stat = readFileSync(path, "utf8");
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

export async function untilGone(pid: number): Promise<void> {
  await pollUntil(
    () => !isRunning(pid),
    GONE_TIMEOUT_MS,
    () => `the end of process ${pid}`,
  );
}

/** A directory with these files in it for the length of `use`; a name that ends in "!" becomes an executable. */
export async function withFiles<T>(
  files: Record<string, string>,
  use: (directory: { path: string; uri: string }) => Promise<T>,
): Promise<T> {
  const path = await mkdtemp("/var/tmp/exec-server-files-");
  try {
    for (const [name, content] of Object.entries(files)) {
      const file = join(path, name.replace(/!$/, ""));
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
      await chmod(file, name.endsWith("!") ? 0o755 : 0o644);
    }
    return await use({ path, uri: pathToFileURL(path).href });
  } finally {
    await rm(path, { recursive: true, force: true });
  }
}

function isEventOf(message: Message, processId: string): boolean {
  return message.method?.startsWith("process/") === true && message.params?.processId === processId;
}

function bytesOf(events: readonly ProcessEvent[], stream: string): Buffer {
  return Buffer.concat(events.flatMap((event) => (event.stream === stream && event.bytes) || []));
}
