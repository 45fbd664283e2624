import { execFileSync } from "node:child_process";
import { closeSync, open } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { LineReader } from "./lines.mjs";

const READ_BUFFER_BYTES = 256 * 1024;
const openFile = promisify(open);

/**
 * A real pipe, as most programs give their children. Node's own `stdio: "pipe"` is a socket pair, which has larger
 * buffers. Opened by name, each end has its own flags, so that ours can be non-blocking while the server's is not.
 */
async function openPipe(path) {
  execFileSync("mkfifo", [path]);
  const [readEnd, writeEnd] = await Promise.all([openFile(path, "r"), openFile(path, "w")]);
  return { readEnd, writeEnd };
}

/** Pipes for a server about to start: `stdin` and `stdout` are for it, until `started` closes them here. */
export async function openStdioPipes(directory) {
  const input = await openPipe(join(directory, "in"));
  const output = await openPipe(join(directory, "out"));
  return {
    stdin: input.readEnd,
    stdout: output.writeEnd,
    ours: { input: input.writeEnd, output: output.readEnd },
    started: () => {
      closeSync(input.readEnd);
      closeSync(output.writeEnd);
    },
  };
}

/** The interface of the WebSocket channel, over these pipes. */
export function openStdio({ input, output }, { onMessage, onEnd }) {
  const fail = (error) => {
    reading.destroy();
    writing.destroy();
    onEnd(error);
  };
  const lines = new LineReader(onMessage);
  const writing = new net.Socket({ fd: input, readable: false, writable: true });
  const reading = new net.Socket({
    fd: output,
    readable: true,
    writable: false,
    onread: {
      buffer: Buffer.allocUnsafe(READ_BUFFER_BYTES),
      callback: (count, buffer) => {
        try {
          lines.push(buffer.subarray(0, count));
        } catch (error) {
          fail(error);
        }
        return true;
      },
    },
  });
  writing.on("error", fail);
  reading.on("error", fail);
  reading.on("close", () => fail(new Error("connection closed")));
  return {
    encode: (text) => Buffer.from(`${text}\n`),
    write: (bytes) => writing.write(bytes),
    pause: () => reading.pause(),
    resume: () => reading.resume(),
    close: () => fail(new Error("closed by the bench")),
  };
}
