import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { SharedLimit } from "./proxy-context.ts";
import {
  cleanups,
  closeProxiesAfterEach,
  createProxy,
  createRawUpstream,
  createUpstream,
  dial,
  exchange,
  get,
  once,
  socksRequest,
  status,
} from "../../../test/fixtures/proxy-scene.ts";

closeProxiesAfterEach();

describe("a proxy that ends", () => {
  it("takes every connection and tunnel with it, half-closed ones too", async () => {
    const outer: Socket[] = [];
    const port = await createRawUpstream((socket) => {
      outer.push(socket);
      socket.resume();
    });
    const { proxy, http, socks } = await createProxy();
    const tunnelled = dial(http);
    tunnelled.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    await once(tunnelled, "data");
    const half = dial(socks, { allowHalfOpen: true });
    half.write(socksRequest("127.0.0.1", port));
    await once(half, "data");
    half.end();
    const waiting = dial(http);
    waiting.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\n\r\n`);
    await expect.poll(() => outer.filter((socket) => socket.readableEnded).length).toBe(1);
    await expect.poll(() => outer.length).toBe(3);
    const closed = [tunnelled, half, waiting].map((socket) => once(socket.resume(), "close"));
    // Its peers can only see that nothing more comes.
    const ended = outer.filter((socket) => !socket.readableEnded).map((socket) => once(socket, "end"));
    expect(ended).toHaveLength(2);
    proxy.close();
    await Promise.all([...closed, ...ended]);
    expect(await exchange(http, "GET / HTTP/1.1\r\n\r\n")).toBe("");
  });
});

describe("limits", () => {
  it("pipelined requests cannot open any number of connections", async () => {
    let open = 0;
    const port = await createRawUpstream(() => {
      open += 1;
    });
    const { http } = await createProxy();
    const answers = exchange(http, `GET http://127.0.0.1:${port}/ HTTP/1.1\r\n\r\n`.repeat(1000));
    await expect.poll(() => open).toBe(128);
    for (const clean of cleanups.splice(0)) clean();
    await answers;
    expect(open).toBe(128);
  });

  it("idle connections beyond the limit are refused, and others are served again when they have gone", async () => {
    const port = await createUpstream(() => "fine");
    const { http } = await createProxy();
    const idle = Array.from({ length: 128 }, () => dial(http));
    await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    for (let count = 0; count < 20; count += 1) await once(dial(http).resume(), "close");
    for (const socket of idle) socket.destroy();
    await expect.poll(async () => status(await exchange(http, get(`http://127.0.0.1:${port}/`)))).toBe("200");
  });

  it("the sockets of all processes together are limited, and are given back", async () => {
    const port = await createUpstream(() => "fine");
    const sockets = new SharedLimit(4);
    const first = await createProxy({ sockets });
    const second = await createProxy({ sockets });
    const idle = Array.from({ length: 3 }, () => dial(first.http));
    await Promise.all(idle.map((socket) => new Promise((resolve) => socket.once("connect", resolve))));
    // One is left for the connection to the proxy, and none for the one that leads out.
    const url = `http://127.0.0.1:${port}/`;
    await expect.poll(async () => status(await exchange(second.http, get(url)))).toBe("503");
    for (const socket of idle) socket.destroy();
    await expect.poll(async () => status(await exchange(second.http, get(url)))).toBe("200");
    first.proxy.close();
    second.proxy.close();
    await expect
      .poll(() => [1, 2, 3, 4, 5].map(() => sockets.take()))
      .toEqual([true, true, true, true, false]);
  });

  it("a reader that does not read stops the sender", async () => {
    let written = 0;
    const port = await createRawUpstream((socket) => {
      const piece = Buffer.alloc(64 * 1024);
      const fill = (): void => {
        while (!socket.destroyed && written < 200 * 1024 * 1024) {
          written += piece.length;
          if (!socket.write(piece)) break;
        }
      };
      socket.on("drain", fill);
      fill();
    });
    const { http } = await createProxy();
    const socket = dial(http);
    socket.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    await once(socket, "data");
    socket.pause();
    // Full when nothing moves between two looks.
    let before = -1;
    await expect
      .poll(
        () => {
          const still = before === written;
          before = written;
          return still;
        },
        { interval: 200, timeout: 10_000 },
      )
      .toBe(true);
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });
});
