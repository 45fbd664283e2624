export type { AdmissionPolicy } from "./serve/admission.ts";
export { attach, type AttachedServer, type AttachOptions } from "./serve/attach.ts";
export type { ServerTls } from "./access/tls-files.ts";
export {
  type Authenticate,
  type Authentication,
  type AuthenticationPolicy,
  type Authenticator,
  createAuthenticator,
  type Presented,
} from "./access/authentication.ts";
export type { Credential } from "./access/credential.ts";
export type { ConsoleOptions } from "./console/console.ts";
export { localPrincipal } from "./access/principal.ts";
export type { Preset } from "./settings/presets.ts";
export { createRights, type Rights, type RightsContext } from "./access/rights.ts";
export type { PrincipalLimits, RightsOptions } from "./settings/rights-options.ts";
export type { SignedTokenPolicy } from "./access/signed-token.ts";
export {
  LIMITS,
  type LimitDefinition,
  type LimitName,
  type NumberLimit,
  type PathsLimit,
  type ServerLimits,
  type SwitchLimit,
} from "./settings/limits.ts";
export type {
  ObservedAnswer,
  ObservedConnection,
  ObservedEnd,
  ObservedProcess,
  ObservedRequest,
  RefusalCause,
  RefusedConnection,
  ServerObserver,
  RequestHooks,
} from "./settings/observer.ts";
export type { FleetOptions } from "./serve/join-fleet.ts";
export type { McpToolOptions } from "./serve/mcp-endpoint.ts";
export type { RelayOptions } from "./serve/join-relay.ts";
export { type ListenAddress, parseListenUrl } from "./serve/listen-address.ts";
export type { ListeningServer } from "./serve/listening-server.ts";
export { serve, type ServeOptions } from "./serve/serve.ts";
export { type AcceptOptions, createServer, type Server } from "./serve/server.ts";
export type { AuditOptions, IdleOptions, ServerOptions } from "./settings/server-options.ts";
