const NORMAL_CODES = [1000, 1005];
/** What a WebSocket reports if no close frame came. */
const NO_CLOSE_FRAME = 1006;

/** Why a client's WebSocket ended; undefined if the server closed it normally. */
export function describeEnd(peer: string, code: number, reason: string): string | undefined {
  if (NORMAL_CODES.includes(code)) return undefined;
  if (code === NO_CLOSE_FRAME)
    return describeFault(peer, new Error("the connection ended without a closing handshake"));
  return `the server closed the connection with code ${code}${reason === "" ? "" : `: ${reason}`}`;
}

/** What failed, of reading and writing, with whom, and why. */
export function describeFault(peer: string, error: Error & { readonly syscall?: string }): string {
  return error.syscall === "write"
    ? `failed to write websocket JSON-RPC message to ${peer}: ${error.message}`
    : `failed to read websocket JSON-RPC message from ${peer}: ${error.message}`;
}
