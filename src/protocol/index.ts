import type * as z from "zod";
import { commandMethods, commandNotifications } from "./command-v0.ts";
import { discoveryMethods } from "./discovery.ts";
import { environmentMethods } from "./environment.ts";
import { fileMethods, fileNotifications } from "./files.ts";
import { fileExtensionMethods, fileExtensionNotifications } from "./files-extensions.ts";
import { httpMethods, httpNotifications } from "./http.ts";
import { networkNotifications, networkServerMethods } from "./network.ts";
import { processExtensionMethods, processExtensionNotifications } from "./process-extensions.ts";
import { processMethods, processNotifications } from "./process.ts";
import { serverStatusMethods } from "./server.ts";
import { sessionMethods, sessionNotifications } from "./session.ts";
import { tcpMethods } from "./tcp.ts";

/** Every request a client may send. The single definition from which validation, types and docs derive. */
export const methods = {
  ...sessionMethods,
  ...processMethods,
  ...processExtensionMethods,
  ...environmentMethods,
  ...fileMethods,
  ...fileExtensionMethods,
  ...discoveryMethods,
  ...httpMethods,
  ...tcpMethods,
  ...commandMethods,
  ...serverStatusMethods,
};

/** Requests that a server sends to its client. */
export const serverMethods = { ...networkServerMethods };

export const notifications = {
  ...sessionNotifications,
  ...processNotifications,
  ...processExtensionNotifications,
  ...fileNotifications,
  ...fileExtensionNotifications,
  ...httpNotifications,
  ...networkNotifications,
  ...commandNotifications,
};

/** Names of the requests that a client may send. */
export type MethodName = keyof typeof methods;
/** Parameters of a request. */
export type Params<M extends MethodName> = z.infer<(typeof methods)[M]["params"]>;
/** Result of a request. */
export type Result<M extends MethodName> = z.infer<(typeof methods)[M]["result"]>;

/** Names of the requests that a server may send. */
export type ServerMethodName = keyof typeof serverMethods;
export type ServerParams<M extends ServerMethodName> = z.infer<(typeof serverMethods)[M]["params"]>;
export type ServerResult<M extends ServerMethodName> = z.infer<(typeof serverMethods)[M]["result"]>;

export type NotificationName = keyof typeof notifications;
export type NotificationParams<N extends NotificationName> = z.infer<(typeof notifications)[N]["params"]>;

export type { Family, LostAnswer, Method, Notification, Right } from "./define.ts";
export { RpcCode } from "./errors.ts";
