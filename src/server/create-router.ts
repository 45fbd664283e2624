import { findCodexHome } from "../capabilities/host/codex-home.ts";
import { readHostInfo } from "../capabilities/host/host-info.ts";
import type { Environment } from "../capabilities/process/env-policy.ts";
import type { ProcessStarter } from "../capabilities/process/process-starter.ts";
import { Router } from "../rpc/router.ts";
import type { ClientConnection } from "./connection/client-connection.ts";
import type { Cordon } from "./cordon.ts";
import { describeEnvironment } from "./environment-info.ts";
import { listExtensions } from "./extensions.ts";
import { commandHandlers } from "./handlers/command-v0.ts";
import { consoleHandlers, type ConsoleLinks } from "./handlers/console.ts";
import { discoveryHandlers } from "./handlers/discovery.ts";
import { environmentConfigHandlers } from "./handlers/environment-config.ts";
import { environmentHandlers } from "./handlers/environment.ts";
import { fileHandlers } from "./handlers/files.ts";
import { httpHandlers } from "./handlers/http.ts";
import { processHandlers } from "./handlers/process.ts";
import { processAttachHandlers } from "./handlers/process-attach.ts";
import { processExtensionHandlers } from "./handlers/process-extensions.ts";
import { serverHandlers } from "./handlers/server.ts";
import { serverOperationHandlers } from "./handlers/server-operation.ts";
import { sessionHandlers } from "./handlers/session.ts";
import { tcpHandlers } from "./handlers/tcp.ts";
import type { KeptProcesses } from "./kept/kept-processes.ts";
import type { ServerLimits } from "./limits.ts";
import type { Audit } from "./audit/audit.ts";
import { Places } from "./files/places.ts";
import { confinedDiscoveryHandlers } from "./sandbox/files/confined-discovery.ts";
import { confinedFileHandlers } from "./sandbox/files/confined-files.ts";
import { FileHelpers } from "./sandbox/files/file-helpers.ts";
import { filePolicies, filePolicy } from "./sandbox/files/file-policy.ts";
import type { Sandboxes } from "./sandbox/sandboxes.ts";
import type { ProcessNetworks } from "./network/process-network.ts";
import type { ServerState } from "./server-state.ts";
import type { SessionRegistry } from "./sessions/session-registry.ts";

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
  const places = new Places(limits.fsRoots);
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
  const confinement = { places, helpers, policyOf };
  const handlers = {
    ...processHandlers({
      environment,
      limits,
      sandboxes,
      networks,
      kept: keepsProcesses ? kept : undefined,
    }),
    ...processAttachHandlers({ sessions, kept }),
    ...processExtensionHandlers({ sessions, kept, allowServerScope: limits.allowServerScope }),
    ...confinedFileHandlers(fileHandlers(places), confinement),
    ...httpHandlers(environment, sandboxes),
    ...tcpHandlers(limits, sandboxes),
    ...confinedDiscoveryHandlers(discoveryHandlers(codexHome, places), confinement),
    ...environmentConfigHandlers(codexHome, places, {
      helpers,
      policyOf: ({ rights }) => filePolicy(sandboxes.given(rights), sandboxes.files),
    }),
    ...commandHandlers(starter, limits, sandboxes),
    ...serverHandlers({ sessions, starter, connections, cordon, allowServerScope: limits.allowServerScope }),
    ...(console === undefined ? {} : consoleHandlers(console)),
    ...serverOperationHandlers({ sessions, limits, state, audit, cordon }),
  };
  const extensions = listExtensions({ ...handlers, initialize: sessionHandlers }).filter(
    (extension) => keepsProcesses || extension !== "process/start.keep",
  );
  const environmentInfo = describeEnvironment(host, { extensions, hasSandbox, version });
  return new Router<ClientConnection>(
    {
      ...sessionHandlers(environmentInfo),
      ...environmentHandlers(environmentInfo),
      ...handlers,
    },
    { gate: (client, family) => client.gate(family), door: (client, request) => client.permit(request) },
  );
}
