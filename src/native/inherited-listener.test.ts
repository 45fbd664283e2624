import { once } from "node:events";
import { openSync, closeSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { expect, it } from "vitest";
import { inheritedListener } from "./inherited-listener.ts";
import { descriptorOf } from "./peer-process.ts";

it.each(["127.0.0.1", "0.0.0.0", "::1", "::"])(
  "finds the address of a socket that listens on %s",
  async (host) => {
    const server = createServer().listen(0, host);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    expect(inheritedListener(descriptorOf(server))).toEqual({ host, port });
    server.close();
  },
);

it("finds nothing in a connection, a Unix socket, a file, or what is not open", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  await once(socket, "connect");
  const local = createServer().listen(`\0exec-server-test-${process.pid}`);
  await once(local, "listening");
  const file = openSync("/dev/null", "r");
  for (const fd of [descriptorOf(socket), descriptorOf(local), file, 9_999])
    expect(inheritedListener(fd)).toBeUndefined();
  closeSync(file);
  socket.destroy();
  local.close();
  server.close();
});
