export { type FleetAddress } from "../fleet/fleet-address.ts";
export { type ClientTls } from "./connect/client-tls.ts";
export {
  connect,
  type ConnectTarget,
  type FleetTarget,
  type NodeConnectOptions,
  type ServerCommand,
} from "./connect/connect.ts";
export * from "./exports.ts";
export { connectLocal, type LocalOptions } from "./connect/local.ts";
export type { Executor, ExecutorChange } from "./fleet/executor.ts";
export { type Fleet, type FleetState, openFleet, type OpenFleetOptions } from "./fleet/fleet.ts";
export type { PickOptions } from "./fleet/pick-executor.ts";
