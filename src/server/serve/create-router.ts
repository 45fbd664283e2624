import type { Spool } from "../../capabilities/process/output/spool/spool.ts";
import { findCodexHome } from "../../capabilities/host/codex-home.ts";
import { readHostInfo } from "../../capabilities/host/host-info.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import { type Handlers, Router } from "../../rpc/router.ts";
import { checkRights } from "../access/check-rights.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import { describeEnvironment, listExtensions } from "./environment-info.ts";
import { commandHandlers } from "../clients/command-v0-handlers.ts";
import { consoleHandlers, type ConsoleLinks } from "../console/console-handlers.ts";
import { discoveryHandlers } from "../files/discovery-handlers.ts";
import { environmentConfigHandlers } from "../files/environment-config-handlers.ts";
import { fileHandlers } from "../files/file-handlers.ts";
import { httpHandlers } from "../network/http-handlers.ts";
import { processHandlers } from "../clients/process-handlers.ts";
import { processAttachHandlers } from "../clients/attach-handlers.ts";
import { processExtensionHandlers } from "../clients/process-extension-handlers.ts";
import { type ServerFacts, serverHandlers } from "./server-handlers.ts";
import { sessionHandlers } from "../clients/session-handlers.ts";
import { tcpHandlers } from "../network/tcp-handlers.ts";
import type { KeptProcesses } from "../sessions/kept-processes.ts";
import { Locations } from "../files/locations.ts";
import { confinedDiscoveryHandlers } from "../files/confined/confined-discovery.ts";
import { confinedFileHandlers } from "../files/confined/confined-files.ts";
import { FileHelpers } from "../files/confined/file-helpers.ts";
import { filePolicies, filePolicy } from "../files/confined/file-policy.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { ProcessNetworks } from "../sandbox/process-network.ts";

/** The dependencies of a server's handlers. */
export interface RouterParts extends ServerFacts {
  readonly environment: Environment;
  readonly kept: KeptProcesses;
  /** Whether clients may keep processes. */
  readonly keepsProcesses: boolean;
  /** Undefined if output is kept in memory only. */
  readonly spool: Spool | undefined;
  readonly sandboxes: Sandboxes;
  readonly networks: ProcessNetworks;
  readonly secrets: Secrets;
  /** Whether to announce capabilities that need a sandbox. */
  readonly hasSandbox: boolean;
  readonly version: string | undefined;
  /** Undefined if it is not served. */
  readonly console: ConsoleLinks | undefined;
  /** What another server answers. */
  readonly front: Handlers<ClientConnection> | undefined;
}

/** Every method that a server answers. Throws a UsageError if a file root is not a directory. */
export function createRouter(parts: RouterParts): Router<ClientConnection> {
  const { environment, limits, sessions, kept, keepsProcesses, starter, sandboxes, console, front } = parts;
  const host = readHostInfo(environment);
  const codexHome = findCodexHome(environment, host.homeDirectory);
  const locations = new Locations(limits.fsRoots);
  const helpers = new FileHelpers({
    starter,
    settings: {
      fsRoots: limits.fsRoots.length > 0 ? limits.fsRoots : undefined,
      codexHome: environment["CODEX_HOME"],
      userDirectory: host.homeDirectory,
      limits,
    },
  });
  const subject = { kind: "files", temporaryDirectory: environment["TMPDIR"] } as const;
  const policyOf = filePolicies(
    (context, client) => sandboxes.policy(client, context, subject),
    sandboxes.files,
  );
  const confinement = { locations, helpers, policyOf };
  const handlers = {
    ...sessionHandlers(() => environmentInfo),
    ...processHandlers({ ...parts, kept: keepsProcesses ? kept : undefined }),
    ...processAttachHandlers({ sessions, kept }),
    ...processExtensionHandlers({ sessions, kept, allowServerScope: limits.allowServerScope }),
    ...confinedFileHandlers(fileHandlers(locations), confinement),
    ...httpHandlers(environment, sandboxes),
    ...tcpHandlers(limits, { sandboxes, locations }),
    ...confinedDiscoveryHandlers(discoveryHandlers(codexHome, locations), confinement),
    ...environmentConfigHandlers(codexHome, locations, {
      helpers,
      policyOf: ({ rights }) => filePolicy(sandboxes.imposed(rights), sandboxes.files),
    }),
    ...commandHandlers(starter, limits, sandboxes),
    ...serverHandlers(parts),
    ...(console === undefined ? {} : consoleHandlers(console)),
    ...front,
  };
  const missing = [
    ...(keepsProcesses ? [] : ["process/start.keep"]),
    ...(parts.spool === undefined ? ["process/start.spool", "process/read.spooled"] : []),
  ];
  const extensions = listExtensions(handlers).filter((extension) => !missing.includes(extension));
  const environmentInfo = describeEnvironment(host, { ...parts, extensions });
  return new Router<ClientConnection>(handlers, {
    gate: (client, family) => client.gate(family),
    authorize: ({ credential }, request) => checkRights(credential, request),
  });
}
