import { afterAll, beforeAll, expect, test } from "vitest";
import { type RawPeer, RpcFailure } from "./raw-peer.ts";
import { failureOverRelay, isTestable } from "./over-relay.ts";
import { type RequirementId, requirementOf } from "./requirements.ts";
import type { Requirement, RequirementTransport } from "./requirements/requirement.ts";
import { type LaunchOptions, launch, SERVER_PATH, type ServerProcess } from "./server-process.ts";
import { releaseOf, startTarget, type Target, type TargetInfo, targetsFor } from "./targets.ts";

export interface VerifyContext {
  target: Target;
  transport: RequirementTransport;
  /** Opens a connection without handshake. It is cut after the test. */
  connect: () => Promise<RawPeer>;
  /** Opens a connection and does the handshake. It is cut after the test. */
  peer: () => Promise<RawPeer>;
  /** Runs the command line of the target's kind. It is ended after the test. */
  launch: (args: readonly string[], options?: LaunchOptions) => Promise<ServerProcess>;
}

export interface VerifyOptions {
  /** Runs beside the file's other concurrent tests: for tests that wait for the server's own clocks. */
  concurrent?: boolean;
  timeoutMs?: number;
}

const wanted = new Map<string, TargetInfo>();
const started = new Map<string, PromiseSettledResult<Target>>();

/** Starts the targets of a file before its tests, and stops them after them. Files share this module. */
export function startTargetsOfFile(): void {
  wanted.clear();
  started.clear();

  beforeAll(async () => {
    const infos = [...wanted.values()];
    const results = await Promise.allSettled(infos.map((info) => startTarget(info)));
    for (const [index, info] of infos.entries()) {
      const result = results[index];
      if (result !== undefined) started.set(info.name, result);
    }
  });

  afterAll(async () => {
    const targets = [...started.values()].filter((result) => result.status === "fulfilled");
    await Promise.all(targets.map((result) => result.value.stop()));
  });
}

/** Registers the test of a requirement, once for every target it applies to. */
export function verifies(
  id: RequirementId,
  body: (context: VerifyContext) => Promise<void>,
  options: VerifyOptions = {},
): void {
  const requirement = requirementOf(id);
  const infos = targetsFor(requirement).filter((info) => isTestable(info, id));
  if (infos.length === 0) test.skip(`${id}: ${requirement.behavior} (not for the selected targets)`);
  for (const info of infos) {
    wanted.set(info.name, info);
    const failure =
      requirement.knownFailures?.find(
        ({ target }) => target === info.kind || target === `${info.kind}-${info.transport}`,
      ) ?? failureOverRelay(info, id);
    const title = `[${info.name}] ${id}: ${requirement.behavior}`;
    const testOptions = {
      ...(options.concurrent === true && { concurrent: true }),
      ...(options.timeoutMs !== undefined && { timeout: options.timeoutMs }),
    };
    test(
      failure === undefined ? title : `${title} (known failure: ${failure.note})`,
      testOptions,
      async () => {
        const target = targetOf(info);
        if (failure === undefined) await run(target, body);
        else await runKnownFailure(target, body, requirement);
      },
    );
  }
}

function targetOf(info: TargetInfo): Target {
  const result = started.get(info.name);
  if (result?.status === "fulfilled") return result.value;
  throw new Error(`target ${info.name} did not start: ${result?.reason}`, { cause: result?.reason });
}

async function run(target: Target, body: (context: VerifyContext) => Promise<void>): Promise<void> {
  const peers: RawPeer[] = [];
  const servers: ServerProcess[] = [];
  const connect = async () => {
    const peer = await target.connect();
    peers.push(peer);
    return peer;
  };
  try {
    await body({
      target,
      transport: target.transport,
      connect,
      async peer() {
        const peer = await connect();
        await peer.handshake();
        return peer;
      },
      async launch(args, options) {
        if (target.kind === "external") throw new Error("an external target has no command line");
        const server = await launch(target.kind, args, { ...releaseOf(target), ...options });
        servers.push(server);
        return server;
      },
    });
  } finally {
    for (const peer of peers) peer.drop();
    await Promise.all(servers.map((server) => server.stop()));
    await Promise.all(peers.map((peer) => peer.closed));
  }
}

/** Like `test.fails`, but a target that did not start proves nothing, and the message says what to do. */
async function runKnownFailure(
  target: Target,
  body: (context: VerifyContext) => Promise<void>,
  requirement: Requirement,
): Promise<void> {
  try {
    await run(target, body);
  } catch {
    return;
  }
  throw new Error(`${target.name} conforms: remove the known failure of "${requirement.behavior}"`);
}

/** Asserts that a request fails with this code, and with this whole message or one that matches. */
export async function expectError(
  request: Promise<unknown>,
  code: number,
  message?: string | RegExp,
): Promise<RpcFailure> {
  const failure: unknown = await request.then(
    (result) => new Error(`expected error ${code}, got the result ${JSON.stringify(result)}`),
    (error: unknown) => error,
  );
  if (!(failure instanceof RpcFailure)) throw failure;
  if (message instanceof RegExp) {
    expect(failure.code, failure.message).toBe(code);
    expect(failure.message).toMatch(message);
  } else if (message === undefined) {
    expect(failure.code, failure.message).toBe(code);
  } else {
    expect({ code: failure.code, message: failure.message }).toEqual({ code, message });
  }
  return failure;
}

/** Params of `process/start` with every required member. */
export function start(
  processId: string,
  argv: readonly string[],
  overrides: Record<string, unknown> = {},
): Record<string, unknown> {
  return { processId, argv, cwd: "file:///", env: { PATH: SERVER_PATH }, tty: false, ...overrides };
}

/** Bytes as the wire carries them. */
export function base64(data: string | Uint8Array): string {
  return Buffer.from(data).toString("base64");
}

/** Text carried by the wire as bytes. */
export function fromBase64(chunk: string): string {
  return Buffer.from(chunk, "base64").toString("utf8");
}
