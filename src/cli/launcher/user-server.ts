// dist/user-server.js: the server of one user, for a server that runs as root; or a keeper, if it is given its socket.
import { withholdInheritedDescriptors } from "../../native/spawn.ts";
import { serveUser } from "../../server/serve/serve-user.ts";
import { VERSION } from "../shared/version.ts";
import { refuseDebugger } from "../serve/refuse-debugger.ts";

/** Set up by the server that starts this program. */
const LISTENER_FD = 3;

// Before becoming the user, whose programs can send it signals.
refuseDebugger();
// Child processes must not inherit its socket.
withholdInheritedDescriptors();

serveUser(LISTENER_FD, { programFile: import.meta.url, version: VERSION, keeperSocket: process.argv[2] });
// The server that started this program decides when it ends; signals for both of them reach it, too.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
