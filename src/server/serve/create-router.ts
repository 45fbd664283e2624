import { findCodexHome } from "../../capabilities/host/codex-home.ts";
import { readHostInfo } from "../../capabilities/host/host-info.ts";
import type { Environment } from "../../capabilities/process/env-policy.ts";
import type { ProcessStarter } from "../../capabilities/process/process-starter.ts";
import { Router } from "../../rpc/router.ts";
import type { ClientConnection } from "../clients/client-connection.ts";
import type { Cordon } from "../settings/cordon.ts";
import { describeEnvironment } from "./environment-info.ts";
import { listExtensions } from "./extensions.ts";
import { commandHandlers } from "../clients/command-v0-handlers.ts";
import { consoleHandlers, type ConsoleLinks } from "../console/console-handlers.ts";
import { discoveryHandlers } from "../files/discovery-handlers.ts";
import { environmentConfigHandlers } from "../files/environment-config-handlers.ts";
import { environmentHandlers } from "./environment-handlers.ts";
import { fileHandlers } from "../files/file-handlers.ts";
import { httpHandlers } from "../network/http-handlers.ts";
import { processHandlers } from "../clients/process-handlers.ts";
import { processAttachHandlers } from "../clients/attach-handlers.ts";
import { processExtensionHandlers } from "../clients/process-extension-handlers.ts";
import { serverHandlers } from "./server-handlers.ts";
import { serverOperationHandlers } from "./operation-handlers.ts";
import { sessionHandlers } from "../clients/session-handlers.ts";
import { tcpHandlers } from "../network/tcp-handlers.ts";
import type { KeptProcesses } from "../sessions/kept-processes.ts";
import type { ServerLimits } from "../settings/limits.ts";
import type { Audit } from "../audit/audit.ts";
import { Locations } from "../files/locations.ts";
import { confinedDiscoveryHandlers } from "../files/confined/confined-discovery.ts";
import { confinedFileHandlers } from "../files/confined/confined-files.ts";
import { FileHelpers } from "../files/confined/file-helpers.ts";
import { filePolicies, filePolicy } from "../files/confined/file-policy.ts";
import type { Sandboxes } from "../sandbox/sandboxes.ts";
import type { ProcessNetworks } from "../sandbox/process-network.ts";
import type { ServerState } from "../settings/server-state.ts";
import type { SessionRegistry } from "../sessions/session-registry.ts";

/** Every method that a server answers. Throws a UsageError if a file root is not a directory. */
export function createRouter({
  environment,
  limits,
  sessions,
  kept,
  keepsProcesses,
  starter,
  sandboxes,
  networks,
  hasSandbox,
  version,
  connections,
  console,
  state,
  audit,
  cordon,
}: {
  environment: Environment;
  limits: ServerLimits;
  sessions: SessionRegistry;
  kept: KeptProcesses;
  /** Whether clients may keep processes. */
  keepsProcesses: boolean;
  starter: ProcessStarter;
  sandboxes: Sandboxes;
  networks: ProcessNetworks;
  /** Whether to announce what needs a sandbox. */
  hasSandbox: boolean;
  version: string | undefined;
  /** How many there are now. */
  connections: () => number;
  /** Undefined if it is not served. */
  console: ConsoleLinks | undefined;
  state: () => ServerState;
  audit: Audit | undefined;
  cordon: Cordon;
}): Router<ClientConnection> {
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
    ...environmentHandlers(() => environmentInfo),
    ...processHandlers({
      environment,
      limits,
      sandboxes,
      networks,
      kept: keepsProcesses ? kept : undefined,
    }),
    ...processAttachHandlers({ sessions, kept }),
    ...processExtensionHandlers({ sessions, kept, allowServerScope: limits.allowServerScope }),
    ...confinedFileHandlers(fileHandlers(locations), confinement),
    ...httpHandlers(environment, sandboxes),
    ...tcpHandlers(limits, sandboxes),
    ...confinedDiscoveryHandlers(discoveryHandlers(codexHome, locations), confinement),
    ...environmentConfigHandlers(codexHome, locations, {
      helpers,
      policyOf: ({ rights }) => filePolicy(sandboxes.given(rights), sandboxes.files),
    }),
    ...commandHandlers(starter, limits, sandboxes),
    ...serverHandlers({ sessions, starter, connections, cordon, allowServerScope: limits.allowServerScope }),
    ...(console === undefined ? {} : consoleHandlers(console)),
    ...serverOperationHandlers({ sessions, limits, state, audit, cordon }),
  };
  const extensions = listExtensions(handlers).filter(
    (extension) => keepsProcesses || extension !== "process/start.keep",
  );
  const environmentInfo = describeEnvironment(host, { extensions, hasSandbox, version });
  return new Router<ClientConnection>(handlers, {
    gate: (client, family) => client.gate(family),
    door: (client, request) => client.permit(request),
  });
}
