import type { LookupAddress } from "node:dns";
import type { LookupFunction, Socket } from "node:net";
import { connectSocket } from "../tcp/tcp-connection.ts";

const CONNECT_TIMEOUT_MS = 30_000;

/** Connects to the first of the addresses that answers. Never resolves a name. */
export async function connectOutward(
  addresses: readonly LookupAddress[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  if (addresses.length === 0 || signal.aborted) throw new Error("there is no address to connect to");
  const lookup: LookupFunction = (_host, _options, answer) => answer(null, [...addresses]);
  // The name only appears in errors: the lookup answers with the checked addresses.
  const target = { host: "checked.invalid", port, lookup };
  return connectSocket(target, { timeoutMs: CONNECT_TIMEOUT_MS, signal });
}
