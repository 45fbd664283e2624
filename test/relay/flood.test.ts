import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ServerKind } from "../conformance/server-process.ts";
import { RelayProgram } from "./relay-program.ts";

const BYTES = 50_000_000;
/** An executor could send everything meanwhile, and no end gives up. */
const ABSENCE_MS = 2_000;

let relay: RelayProgram;

beforeEach(async () => {
  relay = await RelayProgram.start();
});

afterEach(() => relay[Symbol.asyncDispose]());

describe("output waits for a client that cannot be reached for a while", () => {
  it.each<[ServerKind, string, number]>([
    ["ours", "among others", 1],
    ["codex", "alone", 0],
  ])("executor of kind %s, %s", async (kind, _how, others) => {
    await relay.executor(kind, "there");
    const more = await Promise.all(Array.from({ length: others }, () => relay.connect("there")));
    await using host = await relay.connect("there");
    const states: string[] = [];
    host.onStateChange((state) => states.push(state));
    const flood = await host.start(["head", "-c", String(BYTES), "/dev/zero"]);
    let bytes = 0;
    for await (const chunk of flood.output()) {
      if (bytes === 0) {
        relay.proxy.disturb("client", "stall");
        setTimeout(() => relay.proxy.heal(), ABSENCE_MS);
      }
      bytes += chunk.bytes.length;
    }
    expect(bytes).toBe(BYTES);
    expect(states).toEqual([]);
    for (const other of more) await other.close();
  });
});
