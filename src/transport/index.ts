export { startChild } from "./child.ts";
export type { ChildCommand } from "./child-command.ts";
export { JsonLinesTransport } from "./json-lines.ts";
export { createMemoryPair } from "./memory.ts";
export type { Transport, TransportEvents } from "./transport.ts";
export { connectWebSocket } from "./websocket/connect-websocket.ts";
export {
  type AdmissionOptions,
  type ListenOptions,
  type ListenPlace,
  listenWebSocket,
  type WebSocketListener,
} from "./websocket/websocket-server.ts";
