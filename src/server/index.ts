export type { AdmissionPolicy } from "./access/admission.ts";
export { attach, type AttachedServer, type AttachOptions } from "./attach.ts";
export type { ServerTls } from "./tls/tls-files.ts";
export {
  type Authenticate,
  type Authentication,
  type AuthenticationPolicy,
  type Authenticator,
  createAuthenticator,
  type Presented,
} from "./access/authentication.ts";
export type { Credential } from "./access/credential.ts";
export type { AuditOptions } from "./audit/audit.ts";
export type { ConsoleOptions } from "./console/console-options.ts";
export { localPrincipal } from "./access/principal.ts";
export type { Preset } from "./access/presets.ts";
export {
  createRights,
  type PrincipalLimits,
  type Rights,
  type RightsContext,
  type RightsOptions,
} from "./access/rights.ts";
export type { SignedTokenPolicy } from "./access/signed-token.ts";
export {
  LIMITS,
  type LimitDefinition,
  type LimitName,
  type NumberLimit,
  type PathsLimit,
  type ServerLimits,
  type SwitchLimit,
} from "./limits.ts";
export type { IdleOptions } from "./occupancy.ts";
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
} from "./observer.ts";
export { type FleetOptions } from "./fleet/fleet-options.ts";
export { type ListenAddress, parseListenUrl } from "./listen-address.ts";
export type { ListeningServer } from "./listening-server.ts";
export { serve, type ServeOptions } from "./serve.ts";
export { type AcceptOptions, createServer, type Server } from "./server.ts";
export type { ServerOptions } from "./server-options.ts";
