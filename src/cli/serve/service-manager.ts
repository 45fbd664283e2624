import { messageOf } from "../../base/errors.ts";
import { notifyReady } from "../../native/notify-manager.ts";
import { writeErr } from "../shared/standard-streams.ts";

/** What systemd passes to the program that it starts, for that program alone. */
const VARIABLES = [
  "NOTIFY_SOCKET",
  "LISTEN_PID",
  "LISTEN_FDS",
  "LISTEN_FDNAMES",
  "WATCHDOG_PID",
  "WATCHDOG_USEC",
];

/** The service manager that has started this program, if it waits for word from it. Hides it from child processes. */
export function serviceManager(): { ready(): void } {
  const socket = process.env["NOTIFY_SOCKET"] ?? "";
  for (const name of VARIABLES) delete process.env[name];
  return {
    ready: () => {
      try {
        if (socket !== "") notifyReady(socket);
      } catch (error) {
        writeErr(`the service manager cannot be told that the server is ready: ${messageOf(error)}\n`);
      }
    },
  };
}
