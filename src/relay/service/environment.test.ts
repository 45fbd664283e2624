import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { PublicKey } from "../../noise/keys.ts";
import { readFrame, type RelayFrame, writeFrame } from "../frame.ts";
import type { Client, FrameSocket } from "./client.ts";
import { Environment } from "./environment.ts";
import { LIMITS } from "./limits.ts";
import type { Refusal } from "./refusal.ts";

const key = (fill: number): PublicKey => ({
  x25519: Buffer.alloc(32, fill),
  mlkem768: Buffer.alloc(1184, fill),
});
const clientKey = key(2);

class RecordedSocket implements FrameSocket {
  queuedBytes = 0;
  readonly sent: (RelayFrame | undefined)[] = [];
  closed: string | undefined;
  isPaused = false;
  send(frame: Buffer): void {
    this.sent.push(readFrame(frame));
  }
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
  }
  close(_code: number, reason: string): void {
    this.closed ??= reason;
  }
}

let environment: Environment;
let executor: RecordedSocket;
let events: string[];

beforeEach(() => {
  events = [];
  const record = (event: string): void => void events.push(event);
  environment = new Environment({ id: "build-1", token: "machine", key: key(1), now: 0, record });
  executor = new RecordedSocket();
  environment.setExecutor(executor, "there");
});

function join(token = "dev", now = 0): { client: Client; socket: RecordedSocket } {
  const socket = new RecordedSocket();
  const admission = environment.use(environment.admit(token, clientKey, now).secret, now)!;
  return { client: environment.connect(admission, socket), socket };
}

const data = (streamId: string, seq = 0, bytes = 1): Buffer =>
  writeFrame({ streamId, kind: "data", seq, payload: Buffer.alloc(bytes, 1) });
const handshake = (streamId: string): Buffer =>
  writeFrame({ streamId, kind: "handshake", payload: Buffer.from("m") });
const reset = (streamId: string): Buffer => writeFrame({ streamId, kind: "reset", reason: "r" });

/** The streams whose handshakes have reached the executor. */
const handshakes = (): string[] =>
  executor.sent.flatMap((frame) => (frame?.kind === "handshake" ? [frame.streamId] : []));

/** A client whose handshake the executor has answered. */
function open(streamId: string, token = "dev"): { client: Client; socket: RecordedSocket } {
  const joined = join(token);
  environment.receiveFromClient(joined.client, handshake(streamId));
  environment.receiveFromExecutor(handshake(streamId), 0);
  return joined;
}

const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return (error as Refusal).code;
  }
  return "none";
};
const admission = (token = "dev", now = 0): string => codeOf(() => environment.admit(token, clientKey, now));

describe("an address", () => {
  test("works once", () => {
    const { secret } = environment.admit("dev", clientKey, 0);
    expect(environment.use(secret, 1)).toMatchObject({ token: "dev" });
    expect(environment.use(secret, 1)).toBeUndefined();
  });

  test("works for 30 s", () => {
    const { secret } = environment.admit("dev", clientKey, 0);
    expect(environment.use(secret, LIMITS.clientUrlMs)).toBeUndefined();
    const later = environment.admit("dev", clientKey, 0);
    expect(environment.use(later.secret, LIMITS.clientUrlMs - 1)).toBeDefined();
  });

  test("is not handed out while the executor is away, nor does one work then", () => {
    const { secret } = environment.admit("dev", clientKey, 0);
    environment.loseExecutor(executor, 0);
    expect(environment.isOnline).toBe(false);
    expect(admission()).toBe("environment_offline");
    expect(environment.use(secret, 0)).toBeUndefined();
  });

  test("no longer works when its token has ended", () => {
    const { secret, authorization } = environment.admit("dev", clientKey, 0);
    const other = environment.admit("other", clientKey, 0);
    environment.revokeClients("dev");
    expect(environment.use(secret, 0)).toBeUndefined();
    const { registrationId } = environment;
    expect(environment.validate({ authorization, registrationId, key: clientKey }, 0)).toBe(false);
    expect(environment.use(other.secret, 0)).toBeDefined();
  });

  test("of the executor is recognized", () => {
    expect(environment.isExecutorSecret(environment.secret)).toBe(true);
    expect(environment.isExecutorSecret(`${environment.secret}x`)).toBe(false);
    expect(environment.isExecutorSecret("")).toBe(false);
  });
});

describe("an authorization", () => {
  const validate = (changes: object, now = 0): boolean => {
    const { authorization } = environment.admit("dev", clientKey, 0);
    const { registrationId } = environment;
    return environment.validate({ authorization, registrationId, key: clientKey, ...changes }, now);
  };

  test("is valid for its registration and key, for 60 s", () => {
    expect(validate({})).toBe(true);
    expect(validate({}, LIMITS.authorizationMs - 1)).toBe(true);
    expect(validate({}, LIMITS.authorizationMs)).toBe(false);
  });

  test.each([
    ["another registration", { registrationId: "other" }],
    ["another key", { key: key(3) }],
    ["another text", { authorization: "other" }],
  ])("is not valid for %s", (_what, changes) => {
    expect(validate(changes)).toBe(false);
  });

  test("is used up by the first question, whatever the answer", () => {
    const { authorization } = environment.admit("dev", clientKey, 0);
    const { registrationId } = environment;
    expect(environment.validate({ authorization, registrationId, key: key(3) }, 0)).toBe(false);
    expect(environment.validate({ authorization, registrationId, key: clientKey }, 0)).toBe(false);
  });

  test("ends with its client", () => {
    const { secret, authorization } = environment.admit("dev", clientKey, 0);
    environment.loseClient(environment.connect(environment.use(secret, 0)!, new RecordedSocket()));
    const { registrationId } = environment;
    expect(environment.validate({ authorization, registrationId, key: clientKey }, 0)).toBe(false);
  });
});

describe("a stream", () => {
  test("belongs to the socket that names it first", () => {
    const [first, second] = [join(), join()];
    environment.receiveFromClient(first.client, data("a"));
    environment.receiveFromClient(second.client, data("a"));
    expect([first.socket.closed, second.socket.closed]).toEqual([
      undefined,
      "one stream, and one handshake, for each address",
    ]);
    environment.receiveFromExecutor(data("a", 7), 0);
    expect(first.socket.sent).toMatchObject([{ seq: 7 }]);
    expect(second.socket.sent).toEqual([]);
    expect(executor.sent).toHaveLength(1);
  });

  test("is the only one of its socket, with one handshake", () => {
    for (const second of [data("b"), handshake("a")]) {
      const { client, socket } = join();
      environment.receiveFromClient(client, handshake("a"));
      environment.receiveFromClient(client, second);
      expect(socket.closed).toMatch("one stream");
      environment.loseClient(client);
    }
  });

  test("is reset when its socket has gone, and free again", () => {
    const { client } = join();
    environment.receiveFromClient(client, data("a"));
    environment.loseClient(client);
    environment.loseClient(client);
    expect(executor.sent.map((frame) => frame?.kind)).toEqual(["data", "reset"]);
    const next = join();
    environment.receiveFromClient(next.client, data("a"));
    expect(next.socket.closed).toBeUndefined();
  });

  test("is not passed on once its socket has gone", () => {
    const { client } = join();
    environment.loseClient(client);
    environment.receiveFromClient(client, data("a"));
    expect(executor.sent).toEqual([]);
  });

  test("ends with the executor's socket, but not with one that was replaced", () => {
    const { socket } = join();
    const newer = new RecordedSocket();
    environment.setExecutor(newer, "there");
    expect(executor.closed).toMatch("replaced");
    expect(socket.closed).toMatch("connected again");
    const later = join();
    environment.loseExecutor(executor, 0);
    expect(environment.isOnline).toBe(true);
    expect(later.socket.closed).toBeUndefined();
    environment.loseExecutor(newer, 0);
    expect(later.socket.closed).toBe("the executor is gone");
  });

  test("whose client does not read ends at 16 MiB", () => {
    const { socket } = open("a");
    socket.queuedBytes = LIMITS.maxQueuedBytes;
    environment.receiveFromExecutor(data("a"), 0);
    expect(socket.closed).toBeUndefined();
    socket.queuedBytes += 1;
    environment.receiveFromExecutor(data("a"), 0);
    expect(socket.closed).toBe("the client does not read");
  });

  test("ends when its token does", () => {
    const { socket } = open("a");
    const other = open("b", "other");
    environment.revokeClients("dev");
    expect([socket.closed, other.socket.closed]).toEqual(["the token is no longer valid", undefined]);
  });

  test("leaves a line for each step", () => {
    const { client } = open("a");
    environment.receiveFromExecutor(handshake("a"), 0);
    environment.loseClient(client);
    expect(events).toEqual(["online", "connect", "stream", "disconnect"]);
  });
});

describe("clients are limited:", () => {
  test("a token may have three quarters of the 32 that are on their way", () => {
    for (let count = 0; count < 24; count += 1) join();
    expect(admission()).toBe("too_many_streams");
    expect(admission("other")).toBe("none");
  });

  test("one may have three quarters of the 128 streams, another the same of what is left", () => {
    const openAll = (token: string): number => {
      for (let count = 0; ; count += 1)
        if (codeOf(() => open(`${token} ${count}`, token)) !== "none") return count;
    };
    expect([openAll("dev"), openAll("other")]).toEqual([96, 24]);
  });

  test("a token whose handshake was refused has to wait, and nobody else", () => {
    const { client } = join();
    environment.receiveFromClient(client, handshake("a"));
    environment.receiveFromExecutor(reset("a"), 0);
    environment.loseClient(client);
    expect(admission("dev", LIMITS.refusalMs - 1)).toBe("handshake_refused");
    expect(admission("other")).toBe("none");
    expect(admission("dev", LIMITS.refusalMs)).toBe("none");
  });

  test("it waits twice as long after each, up to 5 minutes, unless that was an hour ago", () => {
    const refuse = (now: number): void => {
      const { client } = join("dev", now);
      environment.receiveFromClient(client, handshake(`at ${now}`));
      environment.receiveFromExecutor(reset(`at ${now}`), now);
      environment.loseClient(client);
    };
    let now = 0;
    for (const seconds of [10, 20, 40, 80, 160, 300, 300]) {
      refuse(now);
      now += seconds * 1000;
      expect(admission("dev", now - 1)).toBe("handshake_refused");
    }
    refuse(now + LIMITS.refusalMemoryMs);
    expect(admission("dev", now + LIMITS.refusalMemoryMs + LIMITS.refusalMs)).toBe("none");
  });

  test("the other handshakes of a token whose handshake was refused never reach the executor", () => {
    const all = Array.from({ length: 10 }, (_, index) => ({ ...join(), streamId: `s${index}` }));
    const { secret } = environment.admit("dev", clientKey, 0);
    for (const { client, streamId } of all.slice(0, -1))
      environment.receiveFromClient(client, handshake(streamId));
    expect(handshakes()).toEqual(["s0", "s1", "s2"]);
    environment.receiveFromExecutor(reset("s0"), 0);
    expect(all.map(({ socket }) => socket.closed?.slice(0, 11))).toEqual([
      "the executo",
      undefined,
      undefined,
      ...Array.from({ length: 7 }, () => "a handshake"),
    ]);
    expect(environment.use(secret, 0)).toBeUndefined();
    // Those that it has are answered.
    environment.receiveFromExecutor(handshake("s1"), 0);
    expect(all[1]!.client.isOpen).toBe(true);
    expect(handshakes()).toHaveLength(3);
  });

  test("three handshakes of a token are on their way at a time, and the next goes when one is answered", () => {
    const all = Array.from({ length: 6 }, (_, index) => ({ ...join(), streamId: `s${index}` }));
    for (const { client, streamId } of all) environment.receiveFromClient(client, handshake(streamId));
    environment.receiveFromClient(join("other").client, handshake("other"));
    expect(handshakes()).toEqual(["s0", "s1", "s2", "other"]);
    environment.loseClient(all[3]!.client);
    environment.receiveFromExecutor(handshake("s1"), 0);
    environment.loseClient(all[0]!.client);
    expect(handshakes().slice(4)).toEqual(["s4", "s5"]);
  });

  test("no handshake goes to an executor that was not there when it was made", () => {
    const all = Array.from({ length: 4 }, (_, index) => ({ ...join(), streamId: `s${index}` }));
    for (const { client, streamId } of all) environment.receiveFromClient(client, handshake(streamId));
    executor = new RecordedSocket();
    environment.setExecutor(executor, "there");
    expect(executor.sent).toEqual([]);
  });

  test("an executor that has refused eight may refuse anyone's for 10 s: nobody is blamed", () => {
    const refuse = (token: string, now: number): void => {
      const { client } = join(token, now);
      environment.receiveFromClient(client, handshake(token));
      environment.receiveFromExecutor(reset(token), now);
      environment.loseClient(client);
    };
    for (let count = 0; count < LIMITS.executorPausesAfter; count += 1) refuse(`token ${count}`, 0);
    refuse("dev", LIMITS.executorPauseMs - 1);
    expect(admission("dev", LIMITS.executorPauseMs - 1)).toBe("none");
    refuse("dev", LIMITS.executorPauseMs);
    expect(admission("dev", LIMITS.executorPauseMs)).toBe("handshake_refused");
  });

  test("the end of an open stream is no refused handshake", () => {
    open("a");
    environment.receiveFromExecutor(reset("a"), 0);
    expect(admission()).toBe("none");
  });
});

describe("a client that does not open its stream", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const joinAll = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).flatMap(([token, length]) => Array.from({ length }, () => join(token)));
  const pendingOf = (token: string): number =>
    [...environment.clients].filter((each) => each.token === token).length;

  test("is closed 10 s after it has connected, and its slot is free", () => {
    const silent = joinAll({ one: 24, two: 6, three: 2 });
    vi.advanceTimersByTime(LIMITS.handshakeMs - 1);
    expect(silent.map(({ socket }) => socket.closed)).toEqual(silent.map(() => undefined));
    vi.advanceTimersByTime(1);
    for (const { socket } of silent)
      expect(socket.closed).toBe("the client has not sent its handshake in time");
    expect(environment.clients.size).toBe(0);
    expect(admission("other")).toBe("none");
  });

  test("gives way to clients of tokens that have fewer", () => {
    const [oldest] = joinAll({ one: 24, two: 6, three: 2 });
    join("other");
    expect(oldest!.socket.closed).toBe("clients of other tokens need its slot");
    expect(["one", "two", "three", "other"].map(pendingOf)).toEqual([23, 6, 2, 1]);
    // It does not get back what it has lost, and nobody else loses anything.
    expect(admission("one")).toBe("too_many_streams");
    for (let count = 0; count < 40; count += 1)
      for (const token of ["other", "more"]) if (pendingOf(token) < 7) join(token);
    expect(["one", "two", "three", "other", "more"].map(pendingOf)).toEqual([8, 6, 2, 7, 7]);
  });

  test("gives way before it has connected, too", () => {
    const secrets = Array.from({ length: 24 }, (_, at) => environment.admit("one", clientKey, at).secret);
    joinAll({ two: 6, three: 2, other: 1 });
    expect(secrets.map((secret) => environment.use(secret, 24) !== undefined)).toEqual(
      secrets.map((_, at) => at > 0),
    );
  });

  test("gives way although the token with most has only handshakes under way", () => {
    const busy = joinAll({ one: 24 });
    for (const [at, { client }] of busy.entries())
      environment.receiveFromClient(client, handshake(`stream ${at}`));
    const [silent] = joinAll({ two: 6, three: 2, other: 1 }).values();
    expect(silent!.socket.closed).toBe("clients of other tokens need its slot");
  });

  test("does not give way once its handshake is under way", () => {
    const silent = joinAll({ one: 24, two: 6, three: 2 });
    for (const [at, { client }] of silent.entries())
      environment.receiveFromClient(client, handshake(`stream ${at}`));
    expect(admission("other")).toBe("too_many_streams");
  });

  test("is closed although it sends other frames", () => {
    const { client, socket } = join();
    vi.advanceTimersByTime(LIMITS.handshakeMs - 1);
    environment.receiveFromClient(client, data("a"));
    vi.advanceTimersByTime(1);
    expect(socket.closed).toBe("the client has not sent its handshake in time");
  });

  test("is closed 30 s after its handshake, which the executor has not answered", () => {
    const { client, socket } = join();
    environment.receiveFromClient(client, handshake("a"));
    vi.advanceTimersByTime(LIMITS.answerMs - 1);
    expect(socket.closed).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(socket.closed).toBe("the executor has not answered the handshake in time");
    expect(executor.sent.at(-1)).toMatchObject({ streamId: "a", kind: "reset" });
  });

  test("has no deadline once it has", () => {
    const { socket } = open("a");
    vi.advanceTimersByTime(LIMITS.answerMs);
    expect(socket.closed).toBeUndefined();
  });

  test("leaves no timer when it goes", () => {
    environment.loseClient(join().client);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("while the executor's socket is full", () => {
  const seqs = (): number[] => executor.sent.flatMap((frame) => (frame?.kind === "data" ? [frame.seq] : []));
  const full = (): void => void (executor.queuedBytes = LIMITS.maxExecutorQueuedBytes);
  const free = (): void => {
    executor.queuedBytes = 0;
    environment.drained();
  };

  test("clients are not read, and their frames wait in order", () => {
    const { client, socket } = open("a");
    full();
    for (const seq of [0, 1]) environment.receiveFromClient(client, data("a", seq));
    expect([seqs(), socket.isPaused]).toEqual([[], true]);
    environment.drained();
    expect(seqs()).toEqual([]);
    free();
    expect([seqs(), socket.isPaused]).toEqual([[0, 1], false]);
  });

  test("tokens take turns, however many clients they have", () => {
    const greedy = [1, 2, 3].map((each) => open(`greedy ${each}`, "greedy").client);
    const { client: modest } = open("modest", "modest");
    full();
    for (const [index, client] of greedy.entries())
      for (const round of [0, 1])
        environment.receiveFromClient(client, data(client.streamId!, 10 * round + index, LIMITS.turnBytes));
    environment.receiveFromClient(modest, data("modest", 100, 10));
    environment.receiveFromClient(modest, data("modest", 101, 10));
    free();
    // Small frames share a turn.
    expect(seqs()).toEqual([0, 100, 101, 1, 2, 10, 11, 12]);
  });

  test("frames of a client that is gone are dropped", () => {
    const { client } = open("a");
    const { client: other } = open("b");
    full();
    environment.receiveFromClient(client, data("a", 1));
    environment.receiveFromClient(other, data("b", 2));
    environment.loseClient(client);
    free();
    expect(seqs()).toEqual([2]);
    expect(executor.sent.at(-2)).toMatchObject({ kind: "reset", streamId: "a" });
  });
});

test("an environment that ends closes everything and forgets its addresses", () => {
  const { secret, authorization } = environment.admit("dev", clientKey, 0);
  const { socket } = join();
  environment.end("superseded");
  expect([executor.closed, socket.closed]).toEqual(["superseded", "superseded"]);
  expect(environment.isOnline).toBe(false);
  expect(environment.use(secret, 0)).toBeUndefined();
  const { registrationId } = environment;
  expect(environment.validate({ authorization, registrationId, key: clientKey }, 0)).toBe(false);
});
