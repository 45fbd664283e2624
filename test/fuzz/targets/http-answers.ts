import { once } from "node:events";
import http from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CapabilityError } from "../../../src/base/errors.ts";
import type { HttpResponse } from "../../../src/capabilities/http/exchange.ts";
import { sendHttpRequest } from "../../../src/capabilities/http/http-request.ts";
import { withPlan } from "../choices.ts";
import { chunksOf, expectEqual, expectTrue, type Target, Violation } from "../target.ts";

const PLAN_BYTES = 12;
const DEADLINE_MS = 20_000;

let answer: readonly Buffer[] = [];
/** Writes the current answer to whoever asks, and closes. */
const upstream = createServer({ noDelay: true }, (socket) => {
  socket.on("error", () => {});
  socket.once("data", () => void write());
  async function write(): Promise<void> {
    for (const chunk of answer) {
      socket.write(chunk);
      await nextTurn();
    }
    socket.end();
  }
}).listen(0, "127.0.0.1");
await once(upstream, "listening");
const url = new URL(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}/`);

interface Answer {
  readonly status: number;
  readonly body: string;
}

function bodyOf(response: HttpResponse): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let body = "";
    let isOver = false;
    response.readBody({
      data: (bytes) => {
        if (isOver) reject(new Violation("a piece of a body came after its end"));
        body += bytes.toString("latin1");
      },
      end: (failure) => {
        if (isOver) reject(new Violation("a body ended twice"));
        isOver = true;
        resolve(failure === undefined ? body : undefined);
      },
    });
  });
}

/** The answer, or nothing if it is not one, or not whole. */
async function ours(): Promise<Answer | undefined> {
  const abortion = { aborted: false, expired: false, onAbort: undefined };
  try {
    const response = await sendHttpRequest(
      { method: "GET", url, headers: [], body: undefined },
      { followRedirects: false, abortion, environment: {} },
    );
    for (const [name, value] of response.headers)
      expectTrue(/^[!-9;-~]+$/.test(name) && !/[\r\n\0]/.test(value), "a header is a name and a value");
    expectTrue(response.status >= 200 && response.status <= 999, `a final status: ${response.status}`);
    const body = await bodyOf(response);
    return body === undefined ? undefined : { status: response.status, body };
  } catch (error) {
    if (error instanceof CapabilityError) return undefined;
    throw error;
  }
}

function nodes(): Promise<Answer | undefined> {
  return new Promise((resolve) => {
    const request = http.get(url, { agent: false }, (response) => {
      let body = "";
      response.on("data", (bytes: Buffer) => (body += bytes.toString("latin1")));
      response.on("error", () => resolve(undefined));
      response.on("close", () =>
        resolve(response.complete ? { status: response.statusCode!, body } : undefined),
      );
    });
    request.on("error", () => resolve(undefined));
    request.on("upgrade", (_response, socket) => {
      socket.destroy();
      resolve(undefined);
    });
  });
}

function inTime<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Violation("a request does not settle")), DEADLINE_MS);
    void work.then(resolve, reject).finally(() => clearTimeout(late));
  });
}

/** A request settles, whatever answers it, and an answer that Node takes, too, has the same body. */
export const target: Target = {
  seeds: [
    "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx: y\r\n\r\n5\r\nhello\r\n3;a=b\r\nyou\r\n0\r\nz: 1\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\nHTTP/1.0 404 No\r\n\r\nuntil the end",
    "HTTP/1.1 204 No\r\nconnection: close\r\n\r\n",
    "HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nraw",
  ].map((text) => Buffer.concat([Buffer.alloc(PLAN_BYTES), Buffer.from(text)])),
  words: [
    "\r\n",
    "\n",
    "\r\n\r\n",
    "HTTP/1.1 ",
    "HTTP/1.1 100 C\r\n\r\n",
    "content-length: 5\r\n",
    "transfer-encoding: chunked\r\n",
    "0\r\n\r\n",
    "connection: keep-alive\r\n",
    "location: /\r\n",
    ":",
    ",",
    "\0",
    "\t",
    "gzip",
    "ffffffffffffffff",
  ],
  maxBytes: 1000,
  async run(input) {
    const { plan, bytes } = withPlan(input, PLAN_BYTES);
    answer = chunksOf(bytes, plan);
    const own = await inTime(ours());
    const other = await inTime(nodes());
    if (own !== undefined && other !== undefined) expectEqual(own, other, "the answer");
  },
};
