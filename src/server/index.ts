export { createServer, type Server, type ServerOptions } from "./server.ts";
