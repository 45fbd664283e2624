import { expect } from "vitest";
import { createServer, type ServerLimits } from "../../src/server/index.ts";
import { createMemoryPair } from "../../src/transport/memory.ts";
import { openMemoryPeer, openWebSocketPeer, type RawPeer, RpcFailure } from "../conformance/raw-peer.ts";
import { pollUntil } from "./deadline.ts";
import { startServer } from "./server-under-test.ts";

const DEADLINE_MS = 60_000;
export const LIMIT_CODE = -32011;

/** A server with low limits, and the clients a test opens. */
export interface LimitedServer extends AsyncDisposable {
  /** Opens a connection; nothing has been sent on it. */
  connect(): Promise<RawPeer>;
  /** Opens a connection and a session. */
  session(): Promise<RawPeer>;
}

/** In this process, over memory. */
export function limitedServer(limits: Partial<ServerLimits>): LimitedServer {
  const server = createServer({ environment: process.env, limits });
  const connect = async (): Promise<RawPeer> => {
    const [ours, theirs] = createMemoryPair();
    const peer = openMemoryPeer(ours);
    server.accept(theirs);
    return peer;
  };
  return { connect, session: () => withSession(connect()), [Symbol.asyncDispose]: () => server.close() };
}

/** As its users run it, over WebSockets. */
export async function limitedCli(
  args: readonly string[],
): Promise<LimitedServer & Awaited<ReturnType<typeof startServer>>> {
  const server = await startServer({ args });
  const peers: RawPeer[] = [];
  const connect = async (): Promise<RawPeer> => {
    const peer = await openWebSocketPeer(server.url);
    peers.push(peer);
    return peer;
  };
  return {
    ...server,
    connect,
    session: () => withSession(connect()),
    [Symbol.asyncDispose]: async () => {
      for (const peer of peers) peer.drop();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function withSession(connecting: Promise<RawPeer>): Promise<RawPeer> {
  const peer = await connecting;
  await peer.handshake();
  return peer;
}

/** Params of `process/start`. */
export function start(processId: string, script: string, more: object = {}): object {
  return {
    processId,
    argv: ["/bin/sh", "-c", script],
    cwd: "file:///",
    env: { PATH: process.env["PATH"] },
    tty: false,
    ...more,
  };
}

/** Asserts that a request is refused because of this limit, and that it says so. */
export async function expectLimit(
  request: Promise<unknown>,
  limit: keyof ServerLimits,
  value: number | boolean,
): Promise<void> {
  const failure: unknown = await request.then(
    (result) => new Error(`expected ${limit}, got ${JSON.stringify(result)}`),
    (error: unknown) => error,
  );
  if (!(failure instanceof RpcFailure)) throw failure;
  expect({ code: failure.code, data: failure.data }, failure.message).toEqual({
    code: LIMIT_CODE,
    data: { code: "LIMIT_REACHED", limit, value },
  });
  expect(failure.message).toMatch(new RegExp(`^[a-z].+ \\(${limit} is ${value}\\)$`));
}

/** Repeats a request while a limit refuses it: resources are freed soon, but not at a known moment. */
export async function untilAllowed<T>(request: () => Promise<T>): Promise<T> {
  const { answer } = await pollUntil(
    async () => {
      try {
        return { answer: await request() };
      } catch (error) {
        if (error instanceof RpcFailure && error.code === LIMIT_CODE) return false;
        throw error;
      }
    },
    DEADLINE_MS,
    () => "a place",
  );
  return answer;
}

export const base64 = (data: string | Uint8Array): string => Buffer.from(data).toString("base64");
