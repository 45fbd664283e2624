export {
  type Authenticate,
  type AuthenticationPolicy,
  createAuthenticator,
} from "./access/authentication.ts";
export { localPrincipal, principalOf } from "./access/principal.ts";
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
export { type ListeningServer, serve, type ServeOptions } from "./serve.ts";
export { type AcceptOptions, createServer, type Server, type ServerOptions } from "./server.ts";
