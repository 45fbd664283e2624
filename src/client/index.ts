export { connect, type ConnectTarget, type ServerCommand } from "./connect.ts";
export * from "./exports.ts";
export { connectLocal, type LocalOptions } from "./local.ts";
