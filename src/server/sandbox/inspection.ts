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
