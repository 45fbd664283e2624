import { beforeEach, expect, it, vi } from "vitest";
import type { Transport } from "../transport.ts";
import { connectBrowserWebSocket } from "./browser-websocket.ts";

/** A page's WebSocket, whose network is the test. */
class PageWebSocket extends EventTarget {
  static readonly OPEN = 1;
  static last: PageWebSocket;
  readonly readyState = PageWebSocket.OPEN;
  readonly bufferedAmount = 0;
  readonly close = vi.fn();
  readonly send = vi.fn();
  readonly url: string;
  binaryType = "blob";

  constructor(url: string) {
    super();
    this.url = url;
    PageWebSocket.last = this;
  }

  end(code: number, reason = ""): void {
    this.dispatchEvent(Object.assign(new Event("close"), { code, reason }));
  }
}

beforeEach(() => {
  vi.stubGlobal("WebSocket", PageWebSocket);
  return () => vi.unstubAllGlobals();
});

async function open(): Promise<{
  transport: Transport;
  page: PageWebSocket;
  closed: (reason?: string) => void;
}> {
  const connecting = connectBrowserWebSocket("ws://user:secret@server/", {
    timeoutMs: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    protocols: [],
  });
  const page = PageWebSocket.last;
  page.dispatchEvent(new Event("open"));
  const transport = await connecting;
  const closed = vi.fn();
  transport.open({ message: () => {}, drain: () => {}, close: closed });
  return { transport, page, closed };
}

it.each([
  [
    1006,
    "",
    "failed to read websocket JSON-RPC message from ws://server/: the connection ended without a closing handshake",
  ],
  [4011, "expired", "the server closed the connection with code 4011: expired"],
  [1000, "", undefined],
])("a page's connection that ends with code %i and reason %j says why", async (code, reason, message) => {
  const { page, closed } = await open();
  page.end(code, reason);
  expect(closed).toHaveBeenCalledExactlyOnceWith(message);
});

it("a connection that the page closes needs no reason, however it ends", async () => {
  const { transport, page, closed } = await open();
  transport.close();
  page.end(1006);
  expect(closed).toHaveBeenCalledExactlyOnceWith(undefined);
});

it("a connection that the page gives up has the page's reason", async () => {
  const { transport, page, closed } = await open();
  transport.destroy("the server has been silent for 5s");
  page.end(1006);
  expect(closed).toHaveBeenCalledExactlyOnceWith("the server has been silent for 5s");
});
