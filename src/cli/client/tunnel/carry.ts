import type { Socket } from "node:net";
import type { TcpStream } from "../../../client/tcp/tcp-stream.ts";

/**
 * Carries bytes both ways until both sides have ended, each on its own. Rejects if one of them fails; the remote one
 * is closed then. Only what fits into the buffers of one connection waits here.
 */
export async function carry(local: Socket, remote: TcpStream): Promise<void> {
  try {
    await Promise.all([fromRemote(local, remote), toRemote(local, remote)]);
  } finally {
    await remote.close();
  }
}

async function fromRemote(local: Socket, { readable }: TcpStream): Promise<void> {
  for await (const bytes of readable) if (!local.write(bytes)) await drained(local);
  local.end();
}

async function toRemote(local: Socket, { writable }: TcpStream): Promise<void> {
  const writer = writable.getWriter();
  for await (const bytes of local.iterator({ destroyOnReturn: false })) await writer.write(bytes as Buffer);
  await writer.close();
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      socket.off("drain", done).off("close", closed);
    };
    const done = (): void => {
      settle();
      resolve();
    };
    const closed = (): void => {
      settle();
      reject(new Error("the local connection was closed"));
    };
    if (socket.destroyed) closed();
    else socket.on("drain", done).on("close", closed);
  });
}
