import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { messageOf, UsageError } from "../../base/errors.ts";
import type { Logger } from "../../base/logger.ts";
import { certificatesIn } from "../../transport/websocket/client-certificates.ts";
import type { TlsMaterial } from "../../transport/websocket/tls-front.ts";
import { readOwnFile } from "./read-own-file.ts";

/** Watching the directories would be quicker, but links that lead to other directories are replaced, too. */
const CHECK_MS = 1_000;

/**
 * Certificates of a server. Each is a path, whose file is reread when it changes, or PEM text, which starts with
 * `-----BEGIN`.
 */
export interface ServerTls {
  /** Certificate of the server, followed by those between it and the root. */
  readonly cert: string;
  /** Private key of the certificate, without a passphrase. */
  readonly key: string;
  /** Certificates that sign those of clients. If set, every client must present such a certificate. */
  readonly clientCa?: string | undefined;
}

type Part = keyof ServerTls;
const PARTS = ["cert", "key", "clientCa"] as const;
const NAMES: Readonly<Record<Part, string>> = {
  cert: "the TLS certificate",
  key: "the TLS key",
  clientCa: "the client CA",
};
const GROUP_MAY_READ = 0o040;
const OTHERS_MAY_READ = 0o004;

/** A server that does not own its key reads it through the file's group, so that root can own it. */
export function isExposed(
  { mode, uid }: { readonly mode: number; readonly uid: number },
  user?: number,
): boolean {
  return (mode & OTHERS_MAY_READ) !== 0 || ((mode & GROUP_MAY_READ) !== 0 && uid === user);
}

/** Reads certificates from files, and again when they change. */
export class TlsFiles {
  readonly #tls: ServerTls;
  readonly #logger: Logger;

  constructor(tls: ServerTls, logger: Logger) {
    this.#tls = tls;
    this.#logger = logger;
  }

  /** Files that no client may read. */
  get secrets(): string[] {
    return this.#paths(["key"]);
  }

  /** Files that no client may replace. */
  get trusted(): string[] {
    return this.#paths(["cert", "clientCa"]);
  }

  /** Throws a UsageError for what cannot be read, or does not fit. */
  load(): TlsMaterial {
    const material = {
      cert: this.#read("cert") ?? "",
      key: this.#read("key") ?? "",
      clientCa: this.#read("clientCa"),
    };
    checkTlsMaterial(material);
    const fault = validityFault(material);
    if (fault !== undefined) this.#logger.warn(fault);
    for (const path of this.secrets)
      if (isExposed(statSync(path), process.geteuid?.()))
        this.#logger.warn("other users can read the TLS key; run chmod 600 on it", { path });
    return material;
  }

  /**
   * Calls `renew` with the files' contents after they change or are replaced. While they cannot be used, the previous
   * contents stay in use, and the log says why. Returns a function that stops this.
   */
  watch(renew: (material: TlsMaterial) => void): () => void {
    const paths = this.#paths(PARTS);
    if (paths.length === 0) return () => {};
    let seen = identityOf(paths);
    let complaint: string | undefined;
    const check = (): void => {
      const now = identityOf(paths);
      // After a fault, unchanged files are reread: they may have been read while they were being written.
      if (now === seen && complaint === undefined) return;
      seen = now;
      try {
        renew(this.load());
      } catch (error) {
        const reason = messageOf(error);
        if (reason !== complaint)
          this.#logger.error("the new TLS files cannot be used; the previous certificates stay in use", {
            reason,
          });
        complaint = reason;
        return;
      }
      complaint = undefined;
      this.#logger.info("the TLS certificates were reloaded");
    };
    const timer = setInterval(check, CHECK_MS).unref();
    return () => clearInterval(timer);
  }

  #read(part: Part): string | undefined {
    const [path] = this.#paths([part]);
    if (path === undefined) return this.#tls[part];
    return readOwnFile(path, NAMES[part]);
  }

  #paths(parts: readonly Part[]): string[] {
    return parts.flatMap((part) => {
      const value = this.#tls[part];
      return value === undefined || isPem(value) ? [] : [resolve(value)];
    });
  }
}

function isPem(value: string): boolean {
  return value.trimStart().startsWith("-----BEGIN");
}

/** Throws a UsageError that says which part does not fit. TLS itself takes an empty file without a word. */
function checkTlsMaterial({ cert, key, clientCa }: TlsMaterial): void {
  const [own] = certificatesOf(cert, "the TLS certificate");
  const privateKey = parseKey(key);
  if (!own!.checkPrivateKey(privateKey)) throw new UsageError("the TLS key does not match the certificate");
  if (clientCa !== undefined) certificatesOf(clientCa, "the client CA");
}

/** Why the server's certificate is of no use now; undefined if it is valid. */
function validityFault({ cert }: TlsMaterial): string | undefined {
  const now = Date.now();
  const { validFrom, validTo } = new X509Certificate(cert);
  if (now > Date.parse(validTo)) return `the TLS certificate expired on ${validTo}`;
  return now < Date.parse(validFrom) ? `the TLS certificate is not valid before ${validFrom}` : undefined;
}

function certificatesOf(pem: string, what: string): X509Certificate[] {
  try {
    const certificates = certificatesIn(pem);
    if (certificates.length > 0) return certificates;
  } catch {
    throw new UsageError(`${what} contains something that is not a certificate`);
  }
  throw new UsageError(`${what} contains no PEM certificate`);
}

function parseKey(pem: string): KeyObject {
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem))
    throw new UsageError(
      "the TLS key is encrypted; store it without a passphrase, readable by the server only",
    );
  try {
    return createPrivateKey(pem);
  } catch {
    throw new UsageError("the TLS key is not a private key in PEM format");
  }
}

/** Differs when a file is written, and when another one takes its place. */
function identityOf(paths: readonly string[]): string {
  return paths.map(describe).join("\n");
}

function describe(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ");
  } catch {
    return "missing";
  }
}
