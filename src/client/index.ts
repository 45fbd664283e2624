export { type FleetAddress } from "../fleet/fleet-address.ts";
export { type ClientTls } from "./link/client-tls.ts";
export {
  connect,
  type ConnectTarget,
  type FleetTarget,
  type NodeConnectOptions,
  type ServerCommand,
} from "./host/connect.ts";
export type { RelayTarget } from "./host/relay-url.ts";
export * from "./exports.ts";
export { connectLocal, type LocalOptions } from "./host/local.ts";
export type { Executor, ExecutorChange } from "./host/executor.ts";
export { type Fleet, type FleetState, openFleet, type OpenFleetOptions } from "./host/fleet.ts";
export type { PickOptions } from "./host/pick-executor.ts";
