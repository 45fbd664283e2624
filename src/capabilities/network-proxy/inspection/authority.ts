import { generateKeyPairSync, type KeyPairKeyObjectResult } from "node:crypto";
import { createSecureContext, type SecureContext } from "node:tls";
import { authorityCertificate, hostCertificate, type Issuer, type Validity } from "./certificate.ts";

const DAY_MS = 24 * 60 * 60_000;
const AUTHORITY_DAYS = 3_650;
const HOST_DAYS = 30;
/** Clocks differ. */
const BACKDATED_MS = DAY_MS;
/** Hosts whose certificates are remembered. Another one is made in less than a millisecond. */
const MAX_HOSTS = 256;

interface Remembered {
  readonly context: SecureContext;
  readonly renewAt: number;
}

/**
 * Vouches for hosts to the processes of one server, which trust it in addition to the system's authorities. Its key
 * never leaves this program's memory, and the next server has another one.
 */
export class Authority {
  /** Its own certificate, in PEM. */
  readonly certificate: string;
  readonly #issuer: Issuer;
  /** One key for all hosts: they differ only in who they claim to be. */
  readonly #hostKey: KeyPairKeyObjectResult;
  /** The most recently used one is the last. */
  readonly #hosts = new Map<string, Remembered>();
  readonly #now: () => number;

  constructor({ now = Date.now }: { now?: () => number } = {}) {
    this.#now = now;
    const { privateKey, publicKey } = newKey();
    this.#issuer = { name: "exec-server inspection", privateKey, publicKey };
    this.#hostKey = newKey();
    this.certificate = authorityCertificate(this.#issuer, this.#validity(AUTHORITY_DAYS));
  }

  /** What a TLS server shows that is this host: a name, or an address as `canonicalIp` returns it. */
  contextFor(host: string): SecureContext {
    const known = this.#hosts.get(host);
    this.#hosts.delete(host);
    const remembered = known !== undefined && known.renewAt > this.#now() ? known : this.#issue(host);
    this.#hosts.set(host, remembered);
    for (const oldest of this.#hosts.keys()) {
      if (this.#hosts.size <= MAX_HOSTS) break;
      this.#hosts.delete(oldest);
    }
    return remembered.context;
  }

  /** Number of hosts that are remembered. */
  get size(): number {
    return this.#hosts.size;
  }

  #issue(host: string): Remembered {
    const { publicKey, privateKey } = this.#hostKey;
    const validity = this.#validity(HOST_DAYS);
    const cert = hostCertificate(this.#issuer, { host, publicKey, validity });
    const key = privateKey.export({ type: "pkcs8", format: "pem" });
    return { context: createSecureContext({ cert, key }), renewAt: this.#now() + (HOST_DAYS / 2) * DAY_MS };
  }

  #validity(days: number): Validity {
    const from = this.#now() - BACKDATED_MS;
    return { from: new Date(from), until: new Date(this.#now() + days * DAY_MS) };
  }
}

function newKey(): KeyPairKeyObjectResult {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}
