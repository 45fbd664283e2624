import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { encodeBase64 } from "../../base/base64.ts";
import { ConnectionError, RpcError } from "../../base/errors.ts";
import type { Params } from "../../protocol/index.ts";
import type { Caller } from "../calls/caller.ts";
import { createFetch } from "./fetch.ts";
import { HttpBodies } from "./http-bodies.ts";

type WireRequest = Params<"http/request">;

interface Head {
  status?: number;
  headers?: [string, string][];
}

/** A fetch whose server is played by the test. */
function fakeServer(answer: (request: WireRequest) => Head | Promise<Head> = () => ({})) {
  const requests: WireRequest[] = [];
  const cancelled: string[] = [];
  const bodies = new HttpBodies({ cancel: (id) => cancelled.push(id) });
  const caller = {
    async request(_method: string, params: WireRequest) {
      requests.push(params);
      const { status = 200, headers = [] } = await answer(params);
      return { status, headers: headers.map(([name, value]) => ({ name, value })), bodyBase64: "" };
    },
  } as unknown as Caller;
  let seq = 0;
  /** Sends a piece of the last body that was asked for; nothing is its end. */
  const send = (data?: string | Uint8Array): void => {
    seq += 1;
    bodies.receive({
      requestId: requests.at(-1)!.requestId,
      seq,
      deltaBase64: encodeBase64(
        typeof data === "string" ? new TextEncoder().encode(data) : (data ?? new Uint8Array()),
      ),
      done: data === undefined,
      error: null,
    });
  };
  return { fetch: createFetch(caller, bodies), requests, cancelled, bodies, send };
}

const PAGE = "http://upstream.test/path";

describe("fetch", () => {
  it("asks for a stream, with the id it has registered", async () => {
    const { fetch, requests, bodies } = fakeServer();
    await fetch(`${PAGE}?q=ü#fragment`, {
      headers: [
        ["X-A", "1"],
        ["x-a", "2"],
      ],
    });
    expect(requests).toEqual([
      {
        method: "GET",
        url: `${PAGE}?q=%C3%BC`,
        requestId: "http-1",
        headers: [
          { name: "accept-encoding", value: "gzip, deflate" },
          { name: "x-a", value: "1, 2" },
        ],
        redirectPolicy: "follow",
        streamResponse: true,
      },
    ]);
    expect(bodies.size).toBe(1);
  });

  it.each([
    ["get", "GET"],
    ["Delete", "DELETE"],
    ["patch", "patch"],
    ["PROPFIND", "PROPFIND"],
  ])("the method %s is sent as %s", async (requestedMethod, sent) => {
    const { fetch, requests } = fakeServer();
    await fetch(PAGE, { method: requestedMethod });
    expect(requests[0]!.method).toBe(sent);
  });

  it("headers of the connection are left to the server", async () => {
    const { fetch, requests } = fakeServer();
    const headers = {
      "content-length": "99",
      "transfer-encoding": "chunked",
      expect: "x",
      host: "other",
      cookie: "a=b",
    };
    await fetch(PAGE, { method: "POST", body: "x", headers });
    expect(requests[0]!.headers!.map(({ name }) => name)).toEqual([
      "accept-encoding",
      "content-type",
      "cookie",
      "host",
    ]);
  });

  it("a content type of the caller's stands", async () => {
    const { fetch, requests } = fakeServer();
    await fetch(PAGE, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
    expect(requests[0]!.headers).toContainEqual({ name: "content-type", value: "application/json" });
    expect(requests[0]!.bodyBase64).toBe("e30=");
  });

  it.each([
    ["a relative URL", "/path", {}, "not an absolute URL: /path"],
    ["another scheme", "ftp://x/", {}, "only http and https URLs can be fetched, not ftp:"],
    ["a body with GET", PAGE, { body: "x" }, "a GET request cannot have a body"],
    ["CONNECT", PAGE, { method: "connect" }, "the method connect cannot be fetched"],
    ["integrity", PAGE, { integrity: "sha256-x" }, "integrity is not supported: nothing would verify it"],
    ["a header name", PAGE, { headers: { "a b": "" } }, /a b/],
  ])("%s is a TypeError before anything is sent", async (_, url, init, message) => {
    const { fetch, requests, bodies } = fakeServer();
    const failure: unknown = await fetch(url, init).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    if (typeof message === "string") expect((failure as Error).message).toBe(message);
    else expect((failure as Error).message).toMatch(message);
    expect(requests).toEqual([]);
    expect(bodies.size).toBe(0);
  });

  it("a body that does not fit a message is refused, and its stream is not read further", async () => {
    const { fetch, requests } = fakeServer();
    let pulled = 0;
    let cancelled = false;
    const body = new ReadableStream({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(8 * 1024 * 1024));
      },
      cancel() {
        cancelled = true;
      },
    });
    const failure: unknown = await fetch(PAGE, { method: "POST", body, duplex: "half" }).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(TypeError);
    expect((failure as Error).message).toMatch(/must not exceed 49545216 bytes$/);
    expect(pulled).toBeLessThan(10);
    expect(cancelled).toBe(true);
    expect(requests).toEqual([]);
  });

  it("a body that stalls does not hold up an abort", async () => {
    const { fetch, requests } = fakeServer();
    const controller = new AbortController();
    const reason = new Error("enough");
    const body = new ReadableStream({ pull: () => new Promise(() => controller.abort(reason)) });
    const init = { method: "POST", body, signal: controller.signal, duplex: "half" } as RequestInit;
    await expect(fetch(PAGE, init)).rejects.toBe(reason);
    expect(requests).toEqual([]);
  });

  it("the signal of a Request counts, unless init has another", async () => {
    const { fetch } = fakeServer();
    const reason = new Error("enough");
    const request = new Request(PAGE, { signal: AbortSignal.abort(reason) });
    await expect(fetch(request)).rejects.toBe(reason);
    await expect(fetch(request, { signal: null })).resolves.toBeInstanceOf(Response);
  });

  it("a timeout is the signal's TimeoutError", async () => {
    const { fetch, send } = fakeServer();
    const answer = await fetch(PAGE, { signal: AbortSignal.timeout(20) });
    send("part");
    await expect(answer.text()).rejects.toMatchObject({ name: "TimeoutError" });
  });

  it("a failed request is a TypeError with its cause, and its stream is forgotten", async () => {
    for (const cause of [
      new RpcError(-32603, "http/request failed: x"),
      new ConnectionError("connection closed"),
    ]) {
      const { fetch, bodies, cancelled } = fakeServer(() => Promise.reject(cause));
      const failure: unknown = await fetch(PAGE).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(TypeError);
      expect(failure).toMatchObject({ message: `fetch failed: ${cause.message}`, cause });
      expect(bodies.size).toBe(0);
      expect(cancelled).toEqual([]);
    }
  });

  it("a lost connection fails the body with a TypeError", async () => {
    const { fetch, bodies, send } = fakeServer();
    const answer = await fetch(PAGE);
    send("some");
    bodies.failAll("gone");
    const reader = answer.body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("some");
    const failure: unknown = await reader.read().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(failure).toMatchObject({ cause: { code: "CONNECTION_CLOSED" } });
  });

  it("a status that no Response can have is a TypeError, and cancels the rest", async () => {
    const { fetch, cancelled } = fakeServer(() => ({ status: 101 }));
    await expect(fetch(PAGE)).rejects.toThrow(`fetch failed: ${PAGE} answered with status 101`);
    expect(cancelled).toEqual(["http-1"]);
  });

  it("nothing is taken from the queue before the body is read", async () => {
    const { fetch, send } = fakeServer();
    const answer = await fetch(PAGE);
    for (let piece = 0; piece < 256; piece += 1) send(new Uint8Array(40_000));
    send();
    expect((await answer.arrayBuffer()).byteLength).toBe(256 * 40_000);
  });

  it("what a reader gets has memory of its own", async () => {
    const { fetch, send } = fakeServer();
    const answer = await fetch(PAGE);
    send("ab");
    send("cd");
    const { value } = await answer.body!.getReader().read();
    expect([value!.length, value!.buffer.byteLength]).toEqual([4, 4]);
  });

  it("a reader may bring its own memory", async () => {
    const { fetch, send } = fakeServer();
    const answer = await fetch(PAGE);
    send("abcdef");
    const reader = answer.body!.getReader({ mode: "byob" });
    const decoder = new TextDecoder();
    const first = await reader.read(new Uint8Array(4));
    expect(decoder.decode(first.value)).toBe("abcd");
    const second = await reader.read(new Uint8Array(4));
    expect(decoder.decode(second.value)).toBe("ef");
    const last = reader.read(new Uint8Array(4));
    send();
    expect((await last).done).toBe(true);
  });

  it("a cancelled body is cancelled at the server, also one that is being decompressed", async () => {
    for (const headers of [[], [["content-encoding", "gzip"]]] as [string, string][][]) {
      const { fetch, send, bodies, cancelled } = fakeServer(() => ({ headers }));
      const answer = await fetch(PAGE);
      const compressed = gzipSync(Buffer.from("some text"));
      const reader = answer.body!.getReader();
      const reading = reader.read();
      send(compressed.subarray(0, 12));
      if (headers.length === 0) await reading;
      await reader.cancel();
      expect(bodies.size).toBe(0);
      expect(cancelled).toEqual(["http-1"]);
    }
  });

  it("an abort while a body is decompressed is the signal's reason", async () => {
    const { fetch, send } = fakeServer(() => ({ headers: [["content-encoding", "gzip"]] }));
    const controller = new AbortController();
    const answer = await fetch(PAGE, { signal: controller.signal });
    send(gzipSync(Buffer.from("some text")).subarray(0, 12));
    const text = answer.text();
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(text).rejects.toBe(reason);
  });

  it("bytes that are not what content-encoding says are a TypeError, and cancel the rest", async () => {
    const { fetch, send, cancelled } = fakeServer(() => ({ headers: [["content-encoding", "gzip"]] }));
    const answer = await fetch(PAGE);
    send("plain text");
    await expect(answer.text()).rejects.toThrow(TypeError);
    expect(cancelled).toEqual(["http-1"]);
  });

  it("a response that was garbage collected gives its place back", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const { fetch, send, bodies, cancelled } = fakeServer();
    const signal = new AbortController().signal;
    await fetch(PAGE, { signal });
    send("unread");
    await vi.waitFor(
      () => {
        collect();
        expect(bodies.size).toBe(0);
      },
      { timeout: 20_000 },
    );
    expect(cancelled).toEqual(["http-1"]);
  });

  it.each([
    ["a name", ["na me", "x"]],
    ["an empty name", ["", "x"]],
    ["a value", ["x", "a\nb"]],
    ["a value beyond bytes", ["x", "\u{1f600}"]],
  ] as [string, [string, string]][])(
    "an answer whose header has %s without a form leaves nothing open",
    async (_, header) => {
      const { fetch, send, bodies, cancelled } = fakeServer((request) => ({
        headers: request.requestId === "http-1" ? [["fine", "x"], header] : [],
      }));
      await expect(fetch(PAGE)).rejects.toMatchObject({
        name: "TypeError",
        cause: { code: "PROTOCOL_ERROR" },
      });
      expect(bodies.size).toBe(0);
      expect(cancelled).toEqual(["http-1"]);
      const response = await fetch(PAGE);
      send("next");
      send();
      expect(await response.text()).toBe("next");
    },
  );

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "a body whose content-encoding is %s stays as it came",
    async (coding) => {
      const { fetch, send } = fakeServer(() => ({ headers: [["content-encoding", coding]] }));
      const response = await fetch(PAGE);
      send("as it came");
      send();
      expect(await response.text()).toBe("as it came");
    },
  );

  it.each([
    ["shorter", "abc", "4"],
    ["longer", "abcde", "4"],
    ["empty", undefined, "1"],
  ])("a body that is %s than its content-length is an error", async (_, sent, length) => {
    for (const isEarly of [true, false]) {
      const { fetch, send } = fakeServer(() => {
        if (isEarly) queueMicrotask(sendAll);
        return { headers: [["content-length", length]] };
      });
      const sendAll = (): void => {
        if (sent !== undefined) send(sent);
        send();
      };
      const response = await fetch(PAGE);
      if (!isEarly) sendAll();
      await expect(response.text()).rejects.toMatchObject({ cause: { code: "PROTOCOL_ERROR" } });
    }
  });

  it("a compressed body has the length of what was sent", async () => {
    const bytes = gzipSync("decompressed");
    const headers: [string, string][] = [
      ["content-encoding", "gzip"],
      ["content-length", `${bytes.length}`],
    ];
    const { fetch, send } = fakeServer(() => ({ headers }));
    const response = await fetch(PAGE);
    send(bytes);
    send();
    expect(await response.text()).toBe("decompressed");
  });
});
