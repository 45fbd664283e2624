import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { JsonParts } from "../../src/rpc/json-parts.ts";
import { FileHelper, type HelperOptions } from "../../src/server/sandbox/files/file-helper.ts";
import { bareClient, HELPER_COMMAND, SETTINGS, startBare } from "./bare-helper.ts";

/** Longer than a machine stands still, so that only a helper that is stopped is silent for so long. */
const QUICK = { askMs: 20, silenceMs: 4_000 };

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
