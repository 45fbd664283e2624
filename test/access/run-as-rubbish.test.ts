import { closeSync, readdirSync, readFileSync, readlinkSync, writeSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { connect } from "../../src/client/host/connect.ts";
import { libc } from "../../src/native/libc.ts";
import { withDeadline } from "../fault/deadline.ts";
import { startServer } from "../fault/server-under-test.ts";
import { openSocket } from "./raw-client.ts";

// What the server of a user sends is as untrusted as the user. Here root puts bytes into its end of the channel.

const DEADLINE_MS = 60_000;
const PIDFD_OPEN = 434;
const PIDFD_GETFD = 438;
const SERVER_FAILED = 1011;

function userServerOf(parent: number): number {
  const found = readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return (
        readFileSync(`/proc/${name}/cmdline`, "utf8").includes("user-server.js") &&
        readFileSync(`/proc/${name}/status`, "utf8").includes(`PPid:\t${parent}\n`)
      );
    } catch {
      return false;
    }
  });
  expect(found).toHaveLength(1);
  return Number(found[0]);
}

/** Descriptors of its sockets, besides its stderr: the one on which it listens comes first, then the one to its server. */
function socketsOf(pid: number): number[] {
  const isSocket = (fd: string): boolean => readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith("socket:");
  return readdirSync(`/proc/${pid}/fd`)
    .filter((fd) => isSocket(fd))
    .map(Number)
    .filter((fd) => fd > 2)
    .sort((one, other) => one - other);
}

function writeInto(pid: number, bytes: Buffer): void {
  const [, channel = -1] = socketsOf(pid);
  const process = libc().systemCall(PIDFD_OPEN, pid, 0, 0);
  const fd = libc().systemCall(PIDFD_GETFD, process, channel, 0);
  expect(fd).toBeGreaterThan(2);
  try {
    writeSync(fd, bytes);
  } finally {
    closeSync(fd);
    closeSync(process);
  }
}

/** A frame that claims to be a message with that many bytes of text. */
function frame(textBytes: number, text = ""): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt32LE(7, 4);
  head.writeUInt32LE(textBytes, 8);
  return Buffer.concat([head, Buffer.from(text)]);
}

describe.runIf(process.getuid?.() === 0)("the server of a user that sends", () => {
  it.each([
    ["zeros", Buffer.alloc(4_096)],
    ["ones", Buffer.alloc(4_096, 255)],
    ["the head of an endless message", frame(0xffff_ffff)],
    ["text that is not JSON", frame(5, "{junk")],
    ["a message that does not exist", frame(14, '{"kind":"new"}')],
  ])("%s ends with its clients, and nobody else does", async (_, rubbish) => {
    await using server = await startServer({ args: ["--run-as", "games"] });
    await using client = await openSocket(server.url);
    writeInto(userServerOf(server.pid), rubbish);
    expect(await withDeadline(client.closed, DEADLINE_MS, () => "the end")).toBe(SERVER_FAILED);
    await using host = await connect(server.url);
    expect((await host.run(["id", "-un"])).stdout).toBe("games\n");
  });
});
