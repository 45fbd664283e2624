import { FileError } from "../../../client/browser.ts";

/** Errors about one name, which say nothing about other names. Errors that the client itself finds are like them. */
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

/** The files that failed while the others went through. */
export class FailedFiles {
  readonly #total: number;
  #first: FileError | undefined;
  #count = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** Throws the error if the other files would fail the same way. */
  add(error: unknown): void {
    const isOfOne =
      error instanceof FileError && (error.rpcCode === undefined || OF_ONE_NAME.has(error.errno));
    if (!isOfOne) throw error;
    this.#first ??= error;
    this.#count++;
  }

  /** Throws an error about all failures, if there were any. */
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
