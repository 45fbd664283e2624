import type { LookupAddress } from "node:dns";
import { connect, type Socket } from "node:net";

const CONNECT_TIMEOUT_MS = 30_000;
/** Time for one of several addresses. Node's default, 250 ms, is less than some round trips. */
const ATTEMPT_TIMEOUT_MS = 3_000;

/** Connects to the first of the addresses that answers. Never resolves a name. */
export function connectOutward(
  addresses: readonly LookupAddress[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (addresses.length === 0 || signal.aborted) {
      reject(new Error("there is no address to connect to"));
      return;
    }
    const socket = connect({
      // Only shown in errors: the lookup below answers with what was checked.
      host: "checked.invalid",
      port,
      lookup: (_host, _options, found) => found(null, [...addresses]),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
    });
    // Whoever has it learns of its end by other events, but an error without a listener would end the program.
    socket.on("error", () => {});
    const fail = (error: Error): void => {
      settle();
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(new Error("the connection took too long")), CONNECT_TIMEOUT_MS);
    const aborted = (): void => fail(new Error("the proxy has ended"));
    const settle = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
      socket.off("error", fail);
    };
    signal.addEventListener("abort", aborted);
    socket.once("error", fail);
    socket.once("connect", () => {
      settle();
      resolve(socket);
    });
  });
}
