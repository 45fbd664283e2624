import { expect } from "vitest";
import type { RawPeer } from "./raw-peer.ts";
import type { RequirementTransport } from "./requirements/requirement.ts";

const prefixes: Record<Exclude<RequirementTransport, "cli">, RegExp> = {
  ws: /^failed to parse websocket JSON-RPC message from exec-server websocket (\d+\.\d+\.\d+\.\d+|\[.+\]):\d+: /,
  stdio: /^failed to parse JSON-RPC message from exec-server stdio: /,
  // With a relay in between, too.
  memory: /^failed to parse (?:JSON-RPC message from exec-server (?:memory|fleet)|relay JSON-RPC message): /,
};

/**
 * Sends text that is not a message and asserts the reaction to a malformed one: an error with id -1, the carrier's
 * wording before the reason, and a connection that continues.
 */
export async function expectMalformed(
  peer: RawPeer,
  transport: RequirementTransport,
  text: string,
  reason: string | RegExp = "",
): Promise<void> {
  if (transport === "cli") throw new TypeError("the command line carries no messages");
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  const answer = peer.next(() => true, undefined, `answer to ${shown}`);
  peer.sendText(text);
  const { id, result, error } = await answer;
  expect({ id, result, code: error?.code }, shown).toEqual({ id: -1, result: undefined, code: -32600 });
  const prefix = prefixes[transport].exec(error?.message ?? "")?.[0];
  expect(prefix, `${shown}: ${error?.message}`).toBeDefined();
  const tail = error?.message.slice(prefix?.length) ?? "";
  if (typeof reason === "string" && reason !== "") expect(tail, shown).toBe(reason);
  else expect(tail, shown).toMatch(reason === "" ? /./ : reason);
  // An unknown method is answered at any time, before the handshake too.
  expect((await peer.call("still/open")).error?.code, shown).toBe(-32601);
}

/** Asserts that the connection ends and that nothing was sent before the end. */
export async function expectDropped(peer: RawPeer, act: () => void): Promise<void> {
  const before = peer.rawMessages.length;
  act();
  await expectClosed(peer);
  expect(peer.rawMessages.slice(before)).toEqual([]);
}

/** Asserts that the connection ends on its own. */
export async function expectClosed(peer: RawPeer, timeoutMs = 15_000): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the connection is still open after ${timeoutMs} ms`)),
      timeoutMs,
    );
  });
  try {
    await Promise.race([peer.closed, late]);
  } finally {
    clearTimeout(timer);
  }
}
