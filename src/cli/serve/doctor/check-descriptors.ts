import { maxOpenFiles } from "../../../native/resource-limits.ts";
import { type Check, failed, passed } from "./check.ts";

const NAME = "descriptors";
/** Hundreds of clients with a few processes each. */
const ENOUGH = 4_096;

/** Whether a server could open enough files: every client takes one, and every process several. */
export function checkDescriptors(limit: number = maxOpenFiles()): Check {
  const detail = `up to ${limit} files and connections can be open at once`;
  return limit >= ENOUGH
    ? passed(NAME, detail)
    : failed(NAME, detail, `ulimit -n 65536 in the shell, or LimitNOFILE=65536 in the server's unit`);
}
