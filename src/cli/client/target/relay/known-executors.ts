import { appendFileSync, existsSync } from "node:fs";
import { readOwnFile } from "../../../../server/access/read-own-file.ts";
import { describeFileError, Failure } from "../../../shared/failure.ts";

/** Keys of executors behind relays that a person has accepted: one line `ADDRESS FINGERPRINT` each. */
export class KnownExecutors {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** The key of an executor; undefined if it is not known. The last line counts. */
  keyOf(address: string): string | undefined {
    if (!existsSync(this.path)) return undefined;
    const lines = readOwnFile(this.path, "the known executors").split("\n");
    const line = lines.findLast((each) => each.startsWith(`${address} `));
    return line?.slice(address.length + 1).trim();
  }

  add(address: string, key: string): void {
    try {
      appendFileSync(this.path, `${address} ${key}\n`, { mode: 0o600 });
    } catch (error) {
      throw new Failure(`cannot write ${this.path}: ${describeFileError(error)}`);
    }
  }
}
