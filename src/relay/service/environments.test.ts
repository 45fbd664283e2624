import { beforeEach, describe, expect, test } from "vitest";
import type { PublicKey } from "../../noise/keys.ts";
import type { FrameSocket } from "./client.ts";
import type { Environment } from "./environment.ts";
import { Environments } from "./environments.ts";
import { LIMITS } from "./limits.ts";

const SOCKET: FrameSocket = {
  queuedBytes: 0,
  send: () => {},
  pause: () => {},
  resume: () => {},
  close: () => {},
};
const key = (fill: number): PublicKey => ({ x25519: Buffer.alloc(32, fill), mlkem768: Buffer.alloc(1184) });

let environments: Environments;
let events: string[];

beforeEach(() => {
  events = [];
  environments = new Environments((event) => void events.push(event));
});

const register = (fill: number, now = 0, token = "machine", id = "build"): Environment =>
  environments.register(id, token, key(fill), now);

function online(environment: Environment): Environment {
  environment.setExecutor(SOCKET, "there");
  return environment;
}

test("an executor that registers again keeps its registration", () => {
  const first = register(1);
  expect(register(1)).toBe(first);
  expect(environments.get("build")).toBe(first);
  expect(environments.registered(first.registrationId)).toBe(first);
  expect(events).toEqual(["register"]);
});

describe("another key", () => {
  test("supersedes the one before, whose address is gone", () => {
    const first = online(register(1));
    const second = register(2);
    expect(first.isOnline).toBe(false);
    expect(environments.registered(first.registrationId)).toBeUndefined();
    expect(environments.get("build")).toBe(second);
    expect(events).toEqual(["register", "online", "supersede", "offline", "register"]);
  });

  test("keeps the one before away while it is there, and for 30 s", () => {
    register(1);
    const second = register(2, 100);
    expect(() => register(1, 100)).toThrow("another executor has registered build");
    online(second);
    expect(() => register(1, 10 * LIMITS.keyHoldMs)).toThrow("another executor");
    second.loseExecutor(SOCKET, 10 * LIMITS.keyHoldMs);
    expect(() => register(1, 11 * LIMITS.keyHoldMs - 1)).toThrow("another executor");
    expect(register(1, 11 * LIMITS.keyHoldMs)).toBe(environments.get("build"));
    // Now it is the other way round.
    expect(() => register(2, 11 * LIMITS.keyHoldMs)).toThrow("another executor");
  });

  test("keeps away those that it has not superseded itself", () => {
    for (const fill of [1, 2, 3]) register(fill);
    for (const fill of [1, 2]) expect(() => register(fill)).toThrow("another executor");
  });

  test("is forgotten after sixteen others", () => {
    for (let fill = 0; fill <= LIMITS.maxSupersededKeys; fill += 1) register(fill);
    expect(() => register(0)).toThrow("another executor");
    register(100);
    expect(register(0).fingerprint).toBeDefined();
  });
});

test("the same key with another token is a new registration, and can register again", () => {
  const first = online(register(1, 0, "older"));
  const second = register(1, 0, "newer");
  expect([second === first, first.isOnline, second.token]).toEqual([false, false, "newer"]);
  expect(register(1, 0, "newer")).toBe(second);
  expect(register(1, 0, "older").token).toBe("older");
  expect(events).not.toContain("supersede");
});

test("a token that ends takes its registrations with it", () => {
  const own = online(register(1, 0, "machine", "own"));
  const other = online(register(1, 0, "other", "other"));
  environments.revoke("machine");
  expect([own.isOnline, other.isOnline]).toEqual([false, true]);
  expect([...environments]).toEqual([other]);
});

test("executors that are gone make room for new ones, the oldest first", () => {
  for (let index = 0; index < LIMITS.maxEnvironments; index += 1) register(1, 0, "machine", `gone-${index}`);
  online(environments.get("gone-0")!);
  register(1, 0, "machine", "newer");
  expect([...environments]).toHaveLength(LIMITS.maxEnvironments);
  expect(environments.get("gone-0")).toBeDefined();
  expect(environments.get("gone-1")).toBeUndefined();
});

test("one token may have three quarters of the executors, another the same of what is left", () => {
  const fill = (token: string): number => {
    for (let count = 0; ; count += 1) {
      if (!environments.hasRoomFor(token)) return count;
      online(register(1, 0, token, `${token}-${count}`));
    }
  };
  expect(fill("greedy")).toBe((LIMITS.maxExecutors * 3) / 4);
  expect(fill("modest")).toBe((LIMITS.maxExecutors * 3) / 16);
}, 120_000);
