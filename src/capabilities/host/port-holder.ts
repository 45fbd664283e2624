import { readlinkSync } from "node:fs";
import { listDirectory, listPids, readProcFile } from "../../native/process-stat.ts";
import { resultOr } from "../../native/result-or.ts";
import { inSlices } from "../process/slices.ts";

/** Fields of a line of /proc/net/tcp. */
const LOCAL = 1;
const STATE = 3;
const USER = 7;
const INODE = 9;
const LISTENING = "0A";

/** What listens on a TCP port. */
export interface PortHolder {
  readonly user: number;
  /** Undefined if this user may not see which process it is. */
  readonly pid?: number;
  readonly argv?: readonly string[];
}

/** Finds what listens on a TCP port of this machine, whatever the address. Undefined if nothing can be found. */
export async function portHolder(port: number): Promise<PortHolder | undefined> {
  const hexPort = port.toString(16).toUpperCase().padStart(4, "0");
  const [socket] = ["net/tcp", "net/tcp6"]
    .flatMap((table) => (readProcFile(table) ?? "").split("\n"))
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[STATE] === LISTENING && fields[LOCAL]?.endsWith(`:${hexPort}`) === true);
  if (socket === undefined) return undefined;
  const user = Number(socket[USER]);
  const link = `socket:[${socket[INODE]}]`;
  let pid: number | undefined;
  await inSlices(listPids(), (candidate) => {
    if (pid === undefined && holds(candidate, link)) pid = candidate;
  });
  if (pid === undefined) return { user };
  const argv = (readProcFile(`${pid}/cmdline`) ?? "").split("\0").slice(0, -1);
  return { user, pid, argv };
}

function holds(pid: number, link: string): boolean {
  return listDirectory(`/proc/${pid}/fd`).some(
    (fd) => resultOr(undefined, () => readlinkSync(`/proc/${pid}/fd/${fd}`)) === link,
  );
}
