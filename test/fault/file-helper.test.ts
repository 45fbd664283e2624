import { JsonParts } from "../../src/rpc/json-text.ts";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FileHelper, type HelperOptions } from "../../src/server/files/confined/file-helper.ts";
import { bareClient, HELPER_COMMAND, LIMITS, SETTINGS, startBare } from "./bare-helper.ts";
import { pollUntil } from "./deadline.ts";

/** Longer than a machine stands still, so that only a helper that is stopped is silent for so long. */
const QUICK = { askMs: 20, silenceMs: 4_000 };

/** Root without the capability to inspect every process, so that the rules for ordinary users hold. */
const AS_USER = ["/usr/bin/setpriv", "--bounding-set", "-sys_ptrace"] as const;

let directory: string;
let pid: number | undefined;
let ended: Promise<void> | undefined;

beforeEach(() => {
  directory = mkdtempSync(join(realpathSync(tmpdir()), "file-helper-"));
  writeFileSync(join(directory, "f"), "contents");
});
afterEach(async () => {
  if (pid !== undefined) process.kill(pid, "SIGKILL");
  await ended;
  rmSync(directory, { recursive: true, force: true });
});

function start(options: Partial<HelperOptions> = {}, argv: readonly string[] = HELPER_COMMAND): FileHelper {
  const helper = new FileHelper({
    client: bareClient(new AbortController().signal),
    settings: { ...SETTINGS, mounts: [] },
    accept: async () => {},
    notified: () => undefined,
    ...options,
  });
  ended = helper.run(async () => {
    const started = await startBare(argv);
    ({ pid } = started);
    void started.exited.then(() => (pid = undefined));
    return started;
  });
  return helper;
}

const uri = (name: string): string => `file://${join(directory, name)}`;
const read = (helper: FileHelper, name = "f") =>
  helper.call({ method: "fs/readFile", params: { path: uri(name) }, attached: false }, []);

it("answers calls, with results, errors and contents as bytes", async () => {
  const helper = start();
  await helper.ready;
  expect(await read(helper)).toEqual({ text: '{"dataBase64":"Y29udGVudHM="}' });
  await expect(read(helper, "none")).rejects.toMatchObject({ rpcCode: -32004, code: "NOT_FOUND" });
  const params = { path: uri("g"), dataBase64: "" };
  await helper.call({ method: "fs/writeFile", params, attached: true }, [
    Buffer.from("by"),
    Buffer.from("tes"),
  ]);
  expect(readFileSync(join(directory, "g"), "utf8")).toBe("bytes");
});

it("passes a large answer on in pieces", async () => {
  writeFileSync(join(directory, "large"), Buffer.alloc(300_000, "x"));
  const helper = start();
  await helper.ready;
  const answer = await read(helper, "large");
  expect(answer).toBeInstanceOf(JsonParts);
  const text = Buffer.concat((answer as JsonParts).parts).toString();
  expect(JSON.parse(text)).toEqual({ dataBase64: Buffer.alloc(300_000, "x").toString("base64") });
});

it("is given up when it is silent, and fails its calls", async () => {
  const helper = start({ life: QUICK });
  await helper.ready;
  process.kill(pid!, "SIGSTOP");
  await expect(read(helper)).rejects.toThrow("fs sandbox helper failed: it has been silent for 4s");
  await ended;
  expect(helper.isUsable).toBe(false);
});

it("may be silent as long as nobody calls", async () => {
  const helper = start({ life: QUICK });
  await helper.ready;
  process.kill(pid!, "SIGSTOP");
  await new Promise((resolve) => setTimeout(resolve, QUICK.silenceMs * 1.25));
  process.kill(pid!, "SIGCONT");
  expect(await read(helper)).toEqual({ text: '{"dataBase64":"Y29udGVudHM="}' });
});

it("that says what it cannot do reports its last words", async () => {
  const helper = start({}, ["/bin/sh", "-c", "echo no such luck >&2; exit 3"]);
  await expect(helper.ready).rejects.toThrow("fs sandbox helper failed: status exit status: 3: no such luck");
});

it("that talks nonsense is given up", async () => {
  const helper = start({}, ["/bin/sh", "-c", "printf '%0400d' 1; sleep 60"]);
  await expect(helper.ready).rejects.toThrow(
    "fs sandbox helper failed: it sent something that is not a frame",
  );
  await ended;
});

const RESULT = 2;
const FAILURE = 3;
const NOTIFICATION = 4;

/** A program that says it is ready, and then sends frames of these kinds and contents, as fast as they are read. */
function liar(...frames: { kind: number; id: number; text?: string; bytes?: number }[]): readonly string[] {
  const script = `
    const frame = ({ kind, id, text = "", bytes = 0 }) => {
      const head = Buffer.alloc(16);
      for (const [at, value] of [id, kind, Buffer.byteLength(text), bytes].entries()) head.writeUInt32LE(value, at * 4);
      return Buffer.concat([head, Buffer.from(text), Buffer.alloc(Math.min(bytes, 1 << 20), 32)]);
    };
    process.stdout.write(frame({ kind: 0, id: 0, text: '{"mounts":[]}' }));
    // After the first call, whose id is 1.
    process.stdin.on("data", (chunk) => {
      if (chunk.includes('"method"')) for (const each of ${JSON.stringify(frames)}) process.stdout.write(frame(each));
    });`;
  return [process.execPath, "-e", script];
}

it.each([
  ["an answer that nobody waits for", "an unexpected result", { kind: RESULT, id: 77, bytes: 2 ** 29 }],
  ["a failure that nobody waits for", "an unexpected failure", { kind: FAILURE, id: 0, text: "{}" }],
  ["a request", "an unexpected request", { kind: 1, id: 1, text: "{}" }],
  ["a second greeting", "an unexpected ready", { kind: 0, id: 0, text: '{"mounts":[]}' }],
  ["a failure that is none", "missing field `code`", { kind: FAILURE, id: 1, text: "{}" }],
  ["a failure without end", "a failure of 33554432 bytes", { kind: FAILURE, id: 1, bytes: 2 ** 25 }],
  [
    "a call as a notification",
    "an unknown notification",
    { kind: NOTIFICATION, id: 0, text: '{"method":"process/exited"}' },
  ],
  [
    "a notification with other members",
    "an unknown notification",
    { kind: NOTIFICATION, id: 0, text: '{"method":"fs/watch/changed","params":{"watchId":1}}' },
  ],
])("that sends %s is given up", async (_, reason, frame) => {
  const notified: unknown[] = [];
  const helper = start({ notified: (told) => void notified.push(told) }, liar(frame));
  await helper.ready;
  await expect(read(helper)).rejects.toThrow(reason);
  await ended;
  expect(notified).toEqual([]);
  expect(helper.isUsable).toBe(false);
});

it("that answers a call twice is given up, and what it was granted is given back", async () => {
  const answer = { kind: RESULT, id: 1, bytes: 2 ** 20 };
  const client = bareClient(new AbortController().signal);
  const helper = start({ client }, liar(answer, answer));
  await helper.ready;
  await read(helper);
  await ended;
  await expect(read(helper)).rejects.toThrow("it sent an unexpected result");
  // All of it can be granted again.
  const held = client.budget.open();
  await held.grow(LIMITS.maxBufferedBytesPerConnection);
  held.release();
});

it("cannot be looked into by other programs of its user", async () => {
  const helper = start({}, [...AS_USER, ...HELPER_COMMAND]);
  await helper.ready;
  const look = (seen: number): number | null =>
    spawnSync(AS_USER[0], [...AS_USER.slice(1), "readlink", `/proc/${seen}/exe`]).status;
  const other = spawn(AS_USER[0], [...AS_USER.slice(1), "sleep", "300"]);
  try {
    await pollUntil(
      () => look(other.pid!) === 0,
      60_000,
      () => "a look into another program",
    );
    expect(look(pid!)).toBe(1);
  } finally {
    other.kill("SIGKILL");
  }
});

it("that is not accepted answers no call", async () => {
  const helper = start({
    accept: () => Promise.reject(new Error("not this one")),
  });
  await expect(helper.ready).rejects.toThrow("fs sandbox helper failed: not this one");
  await expect(read(helper)).rejects.toThrow("not this one");
});

it("finishes what it was asked for when it is ended", async () => {
  const helper = start();
  await helper.ready;
  const bytes = Buffer.alloc(8_000_000, "x");
  const params = { path: uri("large"), dataBase64: "" };
  const written = helper.call({ method: "fs/writeFile", params, attached: true }, [bytes]);
  helper.end();
  await expect(written).rejects.toThrow("the sandbox of this file call has ended");
  await ended;
  expect(readFileSync(join(directory, "large")).equals(bytes)).toBe(true);
});
