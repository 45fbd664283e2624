import { once } from "node:events";
import type { Socket } from "node:net";
import type { TcpStream } from "../../../client/tcp/tcp-stream.ts";

/**
 * Carries bytes both ways until both sides have ended, each on its own. Rejects if one of them fails; the remote one
 * is closed then. Only what fits into the buffers of one connection waits here.
 */
export async function carry(local: Socket, remote: TcpStream, closed: AbortSignal): Promise<void> {
  try {
    await Promise.all([fromRemote(local, remote, closed), toRemote(local, remote)]);
  } finally {
    await remote.close();
  }
}

async function fromRemote(local: Socket, { readable }: TcpStream, closed: AbortSignal): Promise<void> {
  for await (const bytes of readable) if (!local.write(bytes)) await once(local, "drain", { signal: closed });
  local.end();
}

async function toRemote(local: Socket, { writable }: TcpStream): Promise<void> {
  const writer = writable.getWriter();
  for await (const bytes of local.iterator({ destroyOnReturn: false })) await writer.write(bytes as Buffer);
  await writer.close();
}
