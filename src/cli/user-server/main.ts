// dist/user-server.js: the server of one user, for a server that runs as root. The two speak over Node's channel.
import type { Socket } from "node:net";
import type { FromUserServer, ToUserServer } from "../../server/run-as/messages.ts";
import { serveUser } from "../../server/run-as/serve-user.ts";
import { refuseDebugger } from "../refuse-debugger.ts";

// Before it becomes the user, whose programs can send it signals.
refuseDebugger();

const service = serveUser(
  {
    send: (message: FromUserServer, sent = () => {}) => {
      if (process.connected) process.send?.(message, () => sent());
      else sent();
    },
    exit: (code) => process.exit(code),
  },
  import.meta.url,
);
process.on("message", (message, socket) =>
  service.take(message as ToUserServer, socket as Socket | undefined),
);
process.on("disconnect", () => service.lost());
// The server that started this program decides when it ends; signals for both of them reach it, too.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
