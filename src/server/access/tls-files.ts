import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Logger } from "../../base/logger.ts";
import type { TlsMaterial } from "../../transport/websocket/tls-front.ts";
import { readOwnFile } from "./read-own-file.ts";
import { rereadOnChange } from "./reread-files.ts";
import { checkTlsMaterial, validityFault } from "./tls-material.ts";

/**
 * Certificates of a server. Each is a path, whose file is read again when it changes, or PEM text, which starts with
 * `-----BEGIN`.
 */
export interface ServerTls {
  /** Certificate of the server, followed by those between it and the root. */
  readonly cert: string;
  /** Private key of the certificate, without a passphrase. */
  readonly key: string;
  /** Certificates that sign those of clients. If it is set, every client must show such a certificate. */
  readonly clientCa?: string | undefined;
}

type Part = keyof ServerTls;
const PARTS = ["cert", "key", "clientCa"] as const;
const NAMES: Readonly<Record<Part, string>> = {
  cert: "the TLS certificate",
  key: "the TLS key",
  clientCa: "the client CA",
};
const OTHERS_MAY_READ = 0o044;

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
      if ((statSync(path).mode & OTHERS_MAY_READ) !== 0)
        this.#logger.warn("other users can read the TLS key; run chmod 600 on it", { path });
    return material;
  }

  /** Calls `renew` with what the files hold after a change. Returns a function that ends this. */
  watch(renew: (material: TlsMaterial) => void): () => void {
    return rereadOnChange({
      paths: this.#paths(PARTS),
      what: "TLS certificates",
      logger: this.#logger,
      reread: () => renew(this.load()),
    });
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
