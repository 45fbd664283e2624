import { uriFromPath } from "../../base/file-uri.ts";
import type { HostInfo } from "../../capabilities/host/host-info.ts";
import type { Method } from "../../protocol/define.ts";
import type { EnvironmentInfo } from "../../protocol/environment.ts";
import { type MethodName, methods } from "../../protocol/index.ts";

/**
 * Codex release whose wire protocol this server implements. Clients compare it with the oldest release they support.
 */
const SPOKEN_CODEX_VERSION = "0.169.0";

/** The handshake's description of the server. A capability is announced only if it works. */
export function describeEnvironment(
  host: HostInfo,
  {
    extensions,
    hasSandbox,
    version,
  }: { extensions: readonly string[]; hasSandbox: boolean; version: string | undefined },
): EnvironmentInfo {
  return {
    shell: host.shell,
    executorVersion: SPOKEN_CODEX_VERSION,
    providerId: `sha256:${host.installationId}`,
    cwd: uriFromPath(host.cwd),
    userHomeDir: uriFromPath(host.homeDirectory),
    platformOs: host.platform,
    prependPathDirs: [],
    temporaryDirectories: host.temporaryDirectories.map(uriFromPath),
    tempDir: uriFromPath(host.temporaryDirectory),
    capabilities: {
      networkProxyLaunch: true,
      networkProxyReviewDomains: true,
      credentialMasking: true,
      credentialMaskingCustomProviders: true,
      fsWatchMissing: true,
      fileWriteStreaming: true,
      httpHeaderEnvVars: true,
      environmentConfigRead: true,
      capabilityDiscoveryV2: true,
      ...(hasSandbox ? { sandboxedFileStreaming: true, capabilityDiscoverySandbox: true } : {}),
    },
    extensions: [...extensions],
    ...(version === undefined ? {} : { serverVersion: version }),
  };
}

/**
 * Extensions of a server with these handlers: methods as `process/list`, fields of Codex methods, and fields
 * that were added later, as `process/start.label`.
 */
export function listExtensions(handlers: { readonly [M in MethodName]?: unknown }): string[] {
  return Object.keys(handlers)
    .flatMap((name) => {
      const definition: Method = methods[name as MethodName];
      const params = (definition.extensionParams ?? []).map((param) => `${name}.${param}`);
      return definition.extension ? [name, ...params] : params;
    })
    .toSorted();
}
