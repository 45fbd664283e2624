import { fstatSync, readlinkSync } from "node:fs";
import { libc } from "../../../native/libc.ts";
import { listDirectory, type ProcessStat, readProcFile } from "../../../native/process-stat.ts";
import { resultOr } from "../../../native/result-or.ts";
import { SharedDescriptor } from "../../../native/shared-descriptor.ts";
import { duplicate, pseudoTerminalName } from "../../../native/spawn.ts";

/** The server's end of an output, while its source has it open. */
export type OutputEnd =
  | { readonly kind: "pipe"; readonly fd: number }
  | { readonly kind: "terminal"; readonly master: SharedDescriptor };

const POLLHUP = 0x10;
const O_ACCMODE = 3;
const O_RDONLY = 0;

/**
 * Keeps an output open to see who writes to it: otherwise a terminal's name could be reused. A pipe's number is not
 * reused for billions of pipes, so a pipe can do without if there is no free descriptor.
 */
export class WatchedOutput {
  /** The link in /proc of descriptors of the other end. */
  readonly link: string;
  readonly #end: SharedDescriptor | undefined;

  constructor(output: OutputEnd) {
    if (output.kind === "terminal") {
      this.link = pseudoTerminalName(output.master.fd);
      this.#end = output.master.share();
    } else {
      this.link = `pipe:[${fstatSync(output.fd).ino}]`;
      this.#end = resultOr(undefined, () => new SharedDescriptor(duplicate(output.fd)));
    }
  }

  /** False if nothing has the other end open. */
  get held(): boolean {
    if (this.#end === undefined) return true;
    // struct pollfd: a descriptor, 16 bits of requested events, 16 bits of returned events.
    const request = new Int32Array([this.#end.fd, 0]);
    libc().poll(request, 1, 0);
    return (new Int16Array(request.buffer)[3]! & POLLHUP) === 0;
  }

  close(): void {
    this.#end?.release();
  }
}

/** The `links` that a process can write to. */
export function heldLinks({ pid }: ProcessStat, links: ReadonlySet<string>): string[] {
  return listDirectory(`/proc/${pid}/fd`).flatMap((fd) => {
    // Undefined if it no longer exists.
    const link = resultOr(undefined, () => readlinkSync(`/proc/${pid}/fd/${fd}`));
    return link !== undefined && links.has(link) && isWritable(pid, fd) ? [link] : [];
  });
}

/** Both ends of a pipe have one name. A process that can only read it has opened it for inspection. */
function isWritable(pid: number, fd: string): boolean {
  const flags = /^flags:\s*([0-7]+)$/m.exec(readProcFile(`${pid}/fdinfo/${fd}`) ?? "")?.[1];
  return flags !== undefined && (Number.parseInt(flags, 8) & O_ACCMODE) !== O_RDONLY;
}
