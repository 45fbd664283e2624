import { ExecError, messageOf } from "../../base/errors.ts";
import { fingerprint, type KeySecret, type PublicKey } from "../../noise/keys.ts";
import { loadIdentity, parseFingerprints, readIdentity } from "../../relay/identity.ts";
import { readOwnFile } from "../../server/access/read-own-file.ts";
import { describeFileError, Failure } from "../shared/failure.ts";
import { writeErr } from "../shared/standard-streams.ts";

/** The key in a file of `--identity`, which is created if it does not exist. */
export function openIdentity(path: string): KeySecret {
  return readable("--identity", path, () => loadIdentity(path));
}

/** The key in a file of `--identity` that must exist. */
export function readExistingIdentity(path: string): KeySecret {
  return readable("--identity", path, () => readIdentity(path));
}

/**
 * Whether a client is in a file of `--authorized-clients`. It is read again whenever somebody asks, and while it cannot be
 * read, nobody is in it.
 */
export function readAuthorizedClients(path: string): (key: PublicKey) => boolean {
  const file = new AuthorizedClients(path);
  readable("--authorized-clients", path, () => file.read());
  return (key) => file.has(fingerprint(key));
}

class AuthorizedClients {
  readonly #path: string;
  #text: string | undefined;
  #known: ReadonlySet<string> = new Set();
  /** In this turn of the event loop, in which all open streams are checked. */
  #isFresh = false;
  #fault: string | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  has(key: string): boolean {
    if (!this.#isFresh) this.#refresh();
    return this.#known.has(key);
  }

  /** Throws a UsageError for a file that cannot be read, or has anything else in it. */
  read(): void {
    const text = readOwnFile(this.#path, "the list of authorized clients");
    if (text === this.#text) return;
    this.#known = parseFingerprints(text, this.#path);
    this.#text = text;
  }

  #refresh(): void {
    this.#isFresh = true;
    setImmediate(() => (this.#isFresh = false));
    let fault: string | undefined;
    try {
      this.read();
    } catch (error) {
      this.#known = new Set();
      this.#text = undefined;
      fault = messageOf(error);
    }
    // Logged once, not each time the file is read.
    if (fault !== undefined && fault !== this.#fault) writeErr(`no client is admitted: ${fault}\n`);
    this.#fault = fault;
  }
}

function readable<T>(flag: string, path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ExecError) throw new Failure(error.message);
    throw new Failure(`${flag}: cannot read ${path}: ${describeFileError(error)}`);
  }
}
