// dist/user-server.js: the server of one user, for a server that runs as root.
import { withholdInheritedDescriptors } from "../../native/spawn.ts";
import { ParentChannel } from "../../server/run-as/parent-channel.ts";
import { serveUser } from "../../server/serve/serve-user.ts";
import { refuseDebugger } from "../serve/refuse-debugger.ts";

// Before becoming the user, whose programs can send it signals.
refuseDebugger();
// Child processes must not inherit its channel.
withholdInheritedDescriptors();

const channel = new ParentChannel();
const service = serveUser(
  { send: (message, sent) => channel.send(message, sent), exit: (code) => process.exit(code) },
  import.meta.url,
);
channel.open({ message: (message, socket) => service.take(message, socket), lost: () => service.lost() });
// The server that started this program decides when it ends; signals for both of them reach it, too.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
