import { createHash } from "node:crypto";
import { byteCount, bytesOf } from "../bulk.mjs";
import { MIB } from "../output-stream.mjs";
import { inSession } from "../session.mjs";
import { quantile } from "../statistics.mjs";
import { openUpstream, upstreamHash } from "../upstream.mjs";
import { inTurn, withDeadline } from "../waiting.mjs";

const MEMBER = "deltaBase64";
const VERIFIED_BYTES = 8 * MIB;

/** The final notification carries no bytes and is marked as such. */
const isLast = (message) => message.length < 400 && message.includes('"done":true');

/** Passes every piece of the body to `onPiece`, up to the last. */
async function stream(session, url, bytes, onPiece) {
  const ended = new Promise((resolve) => {
    session.wire.onBulk = (_method, message) => (isLast(message) ? resolve() : onPiece(message));
  });
  const request = { requestId: "body", method: "GET", url: `${url}/body/${bytes}`, streamResponse: true };
  const { status } = await withDeadline(session.wire.request("http/request", request), "http/request");
  if (status !== 200) throw new Error(`http/request: status ${status}`);
  await withDeadline(ended, "the end of a body");
}

async function streamRate(session, url, bytes) {
  let received = 0;
  const begun = performance.now();
  await stream(session, url, bytes, (message) => {
    received += byteCount(message, MEMBER);
  });
  const seconds = (performance.now() - begun) / 1000;
  if (received !== bytes) throw new Error(`${received} of ${bytes} bytes of a body arrived`);
  return bytes / 1e6 / seconds;
}

async function verify(session, url) {
  const hash = createHash("sha256");
  await stream(session, url, VERIFIED_BYTES, (message) => hash.update(bytesOf(message, MEMBER)));
  if (hash.digest("hex") !== upstreamHash(VERIFIED_BYTES))
    throw new Error("a body differs from what was sent");
}

const smallRequests = (session, url, count) =>
  inTurn(count, async (i) => {
    const request = { requestId: `s${i}`, method: "GET", url: `${url}/small` };
    const { status } = await withDeadline(session.wire.request("http/request", request), "http/request");
    if (status !== 200) throw new Error(`http/request: status ${status}`);
  });

const measure = (server, url, bytes, count) =>
  inSession(server, async (session) => {
    const times = await smallRequests(session, url, count);
    const rate = await streamRate(session, url, bytes);
    return {
      "stream MB/s": rate,
      "first us": times[0],
      "small p50 us": quantile(times, 0.5),
      "small p99 us": quantile(times, 0.99),
    };
  });

export default {
  name: "http",
  about:
    "a body of 256 MiB streamed from an upstream in another process, and small requests one after another",
  transports: ["ws"],
  metrics: [
    { name: "stream MB/s", better: "higher" },
    { name: "first us", better: "lower", context: true },
    { name: "small p50 us", better: "lower" },
    { name: "small p99 us", better: "lower" },
  ],
  setUp: openUpstream,
  warmUp: async ({ server, fixture }) => {
    await inSession(server, (session) => verify(session, fixture.url));
    await measure(server, fixture.url, 256 * MIB, 5_000);
  },
  firstCalls: ({ server, fixture }) => measure(server, fixture.url, 64 * MIB, 300),
  run: ({ server, fixture, quick }) =>
    quick ? measure(server, fixture.url, 64 * MIB, 200) : measure(server, fixture.url, 256 * MIB, 1_000),
};
