import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SecureContext } from "node:tls";
import { CapabilityError } from "../../base/errors.ts";
import { Authority } from "../../capabilities/network-proxy/inspection/authority.ts";
import type { InspectionMeans } from "../../capabilities/network-proxy/inspection/inspector.ts";
import { clientContext, trustedRoots } from "../../capabilities/network-proxy/inspection/trusted-roots.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What one server needs to look into the tunnels of its processes. Made when the first process has secrets. */
export class Inspection implements InspectionMeans {
  readonly authority = new Authority();
  readonly trust: SecureContext;
  /** Certificates of all authorities that a process should trust, in PEM: the machine's, and this server's own. */
  readonly bundle: string;

  /** Throws a CapabilityError if the machine's certificates cannot be read. */
  constructor(environment: Environment) {
    let roots: string;
    try {
      roots = trustedRoots(environment);
      this.trust = clientContext(roots);
    } catch (error) {
      const { message } = error as Error;
      throw new CapabilityError(
        "UNSUPPORTED",
        `secrets cannot be hidden: the certificates that this server trusts are unusable: ${message}`,
      );
    }
    this.bundle = `${roots}${this.authority.certificate}`;
  }
}

/** The bundle in a file, for a process that sees the disk of the machine. */
export interface BundleFile {
  readonly path: string;
  remove(): void;
}

/** Each process has its own, so that none can change what another one trusts. Throws a CapabilityError. */
export function writeBundle({ bundle }: Inspection): BundleFile {
  let directory: string | undefined;
  const remove = (): void => {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  };
  try {
    directory = mkdtempSync(join(tmpdir(), "exec-server-trust-"));
    const path = join(directory, "bundle.pem");
    writeFileSync(path, bundle, { mode: 0o444 });
    return { path, remove };
  } catch (error) {
    remove();
    throw new CapabilityError(
      "OS_ERROR",
      `the bundle of certificates cannot be written: ${(error as Error).message}`,
    );
  }
}
