const NORMAL_CODES = [1000, 1005];
/** Code that a WebSocket reports if there was no close frame. */
const NO_CLOSE_FRAME = 1006;

/** Why a client's WebSocket ended; undefined if the server closed it normally. */
export function describeEnd(peer: string, code: number, reason: string): string | undefined {
  if (NORMAL_CODES.includes(code)) return undefined;
  if (code === NO_CLOSE_FRAME)
    return describeFault(peer, new Error("the connection ended without a closing handshake"));
  return `the server closed the connection with code ${code}${reason === "" ? "" : `: ${reason}`}`;
}

/** Describes a failure: reading or writing, the peer, and the reason. */
export function describeFault(peer: string, error: Error & { readonly syscall?: string }): string {
  return error.syscall === "write"
    ? `failed to write websocket JSON-RPC message to ${peer}: ${error.message}`
    : `failed to read websocket JSON-RPC message from ${peer}: ${error.message}`;
}
