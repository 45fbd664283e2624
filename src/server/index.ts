export { type Authenticate, type AuthenticationPolicy, createAuthenticator } from "./authentication.ts";
export { createServer, type Server, type ServerOptions } from "./server.ts";
