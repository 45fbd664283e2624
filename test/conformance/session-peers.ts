import { type RawPeer, RpcFailure } from "./raw-peer.ts";

const RESUME_TIMEOUT_MS = 15_000;

/**
 * Resumes a session on a connection without handshake. The server may not have noticed yet that the old connection is
 * gone, so -32010 is tried again. Returns the result of initialize; `initialized` is left to the caller.
 */
// oxlint-disable-next-line typescript/no-explicit-any
export async function resume(peer: RawPeer, sessionId: string): Promise<any> {
  const deadline = Date.now() + RESUME_TIMEOUT_MS;
  for (;;) {
    try {
      return await peer.request("initialize", { clientName: "conformance", resumeSessionId: sessionId });
    } catch (error) {
      const attached = error instanceof RpcFailure && error.code === -32010;
      if (!attached || Date.now() > deadline) throw error;
    }
  }
}

/** Whether a process of this machine exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
