import { FileError } from "../../../client/browser.ts";

/** Faults of one name, which say nothing about others. So do those that the client itself finds. */
const OF_ONE_NAME: ReadonlySet<string | undefined> = new Set([
  "EACCES",
  "EEXIST",
  "EINVAL",
  "EISDIR",
  "ELOOP",
  "ENAMETOOLONG",
  "ENOTDIR",
  "EPERM",
  "ETXTBSY",
]);

/** What could not be done while the rest was. */
export class FailedFiles {
  readonly #total: number;
  #first: FileError | undefined;
  #count = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** Throws the error if others would meet it as well. */
  add(error: unknown): void {
    const isOfOne =
      error instanceof FileError && (error.rpcCode === undefined || OF_ONE_NAME.has(error.errno));
    if (!isOfOne) throw error;
    this.#first ??= error;
    this.#count++;
  }

  /** Throws what has failed, if anything has. */
  throwIfAny(): void {
    if (this.#first === undefined) return;
    const { code, message, path, errno } = this.#first;
    if (this.#total === 1) throw this.#first;
    const others = this.#count === 1 ? "" : `, and ${this.#count - 1} more`;
    throw new FileError(code, `${this.#count} of ${this.#total} failed: ${message}${others}`, {
      path,
      errno,
    });
  }
}
