export { connect, type ConnectTarget, type ServerCommand } from "./connect/connect.ts";
export * from "./exports.ts";
export { connectLocal, type LocalOptions } from "./connect/local.ts";
