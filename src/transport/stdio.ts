import { fstatSync } from "node:fs";
import { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { UsageError } from "../base/errors.ts";
import { JsonLinesTransport } from "./json-lines.ts";

let isOpen = false;

/** Messages as lines on this program's stdin and stdout. */
export function openStdioTransport(maxLineBytes?: number): JsonLinesTransport {
  const { input, output } = openStdioStreams();
  return new JsonLinesTransport(input, output, "exec-server stdio", maxLineBytes);
}

/** This program's stdin and stdout, which can carry only one connection. */
export function openStdioStreams(): { readonly input: Readable; readonly output: Writable } {
  if (isOpen) throw new UsageError("stdin and stdout of this program already carry a connection");
  isOpen = true;
  const input = isPipe(0) ? new Socket({ fd: 0, readable: true, writable: false }) : process.stdin;
  // Node writes to a piped stdout synchronously, so a stalled reader would block this program. Writing through a socket
  // does not block.
  const output = isPipe(1) ? new Socket({ fd: 1, readable: false, writable: true }) : process.stdout;
  return { input, output };
}

function isPipe(fd: number): boolean {
  const stat = fstatSync(fd);
  return stat.isFIFO() || stat.isSocket();
}
