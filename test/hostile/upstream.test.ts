import { describe, expect, it } from "vitest";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import type { SeededRandom } from "../fault/seeded-random.ts";
import { type Notification, RpcFailure, type SessionClient } from "../fault/session-client.ts";
import { AttackedServer } from "./attacked-server.ts";
import { hostileRounds, logUniform, randomOf, withSeed } from "./hostile-run.ts";
import { RawUpstream, randomScript } from "./raw-upstream.ts";

const SCRIPTS = 50;
const DEADLINE_MS = 60_000;

/** One client's bodies, as far as they have come. */
class Streams {
  readonly #ended = new Map<string, (isWhole: boolean) => void>();

  readonly heard = ({ method, params }: Notification): void => {
    if (method === "http/request/bodyDelta" && params.done === true)
      this.#ended.get(params.requestId)?.(params.error === null);
  };

  /** Resolves with the last delta of this request: true when it says that the body is whole. */
  end(requestId: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.#ended.set(requestId, resolve);
    });
  }
}

/**
 * A request that gets an answer or a reason, and whose body, if it is streamed, ends in time. True when all of it came.
 */
async function ask(
  session: SessionClient,
  streams: Streams,
  params: { requestId: string; streamResponse: boolean },
): Promise<boolean> {
  const ended = streams.end(params.requestId);
  try {
    await session.request("http/request", params);
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    expect(error.message).not.toMatch(/internal error/);
    return false;
  }
  if (!params.streamResponse) return true;
  return withDeadline(ended, DEADLINE_MS, () => "the end of the body");
}

async function attack(
  target: AttackedServer,
  upstream: RawUpstream,
  random: SeededRandom,
  index: number,
): Promise<string> {
  const script = randomScript(random, upstream.origin);
  upstream.play(script);
  const streams = new Streams();
  const session = await target.session(streams.heard);
  const params = {
    method: random.pick(["GET", "POST", "HEAD"]),
    url: `${upstream.origin}/hostile`,
    requestId: `r${index}`,
    streamResponse: random.pick([true, false]),
    timeoutMs: logUniform(random, 50, 500),
    redirectPolicy: random.pick(["follow", "stop"]),
  };
  const what = `${JSON.stringify(params)}: ${script.name}`.slice(0, 600);
  const leaves = random.next();
  const { played } = upstream;
  const asking = ask(session, streams, params);
  let isAnswered = false;
  // A client that has left gets no answer.
  void asking.catch(() => {}).then(() => (isAnswered = true));
  if (leaves < 0.2) {
    await pollUntil(
      // Its time may be over before it is sent.
      () => upstream.played > played || isAnswered,
      DEADLINE_MS,
      () => "the request",
    );
    session.cut(random.pick(["fin", "reset"]));
  } else {
    if (leaves < 0.4 && params.streamResponse)
      void session.request("http/cancel", { requestId: params.requestId }).catch(() => {}); // the answer says nothing here
    const isWhole = await withDeadline(asking, DEADLINE_MS, () => `an answer to ${what}`);
    session.cut();
    // A connection may be kept for later, unless it has broken its word.
    if (!isWhole)
      await pollUntil(
        () => upstream.silent === 0,
        DEADLINE_MS,
        () => `the end of a silent connection after ${what}`,
      );
  }
  // The rest is no longer wanted, so it must not be read.
  await pollUntil(
    () => upstream.busy === 0,
    DEADLINE_MS,
    () => `the end of the connection after ${what}`,
  );
  return what;
}

describe("an upstream server that answers with anything", () => {
  it("delays no client, takes little memory, is given up in time, and gets its connections closed", () =>
    withSeed(async () => {
      await using target = await AttackedServer.start();
      await using upstream = await RawUpstream.listen();
      const random = randomOf("upstream");
      const session = await target.session();
      for (let index = 0; index < SCRIPTS * hostileRounds; index++) {
        const what = await attack(target, upstream, random, index);
        // Data behind an answer belongs to no request.
        const clean = `n${random.between(0, 2 ** 31)}`;
        const { bodyBase64 } = await session.request<{ bodyBase64: string }>("http/request", {
          method: "GET",
          url: `${upstream.origin}/clean/${clean}`,
          requestId: clean,
        });
        expect(Buffer.from(bodyBase64, "base64").toString(), what).toBe(clean);
        await target.expectPrompt(what);
        target.expectModest(what);
      }
      session.cut();
      await upstream[Symbol.asyncDispose]();
      await target.expectUnharmed("afterwards");
    }));
});
