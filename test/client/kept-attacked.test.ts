import { createHash, createHmac, randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { createDeferred } from "../../src/base/deferred.ts";
import type { Host } from "../../src/client/host/host.ts";
import type { ListeningServer, ServerLimits } from "../../src/server/index.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { connect, serve } from "./served.ts";

// Kept processes under pressure: others' names, races, floods, and ends at bad moments.

const DEADLINE_MS = 90_000;
const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

const SECRET = Buffer.from("0123456789abcdef0123456789abcdef");

function tokenOf(claims: object): string {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + 600;
  const signed = `${encode({ alg: "HS256" })}.${encode({ exp, ...claims })}`;
  return `${signed}.${createHmac("sha256", SECRET).update(signed).digest("base64url")}`;
}

const open = (limits: Partial<ServerLimits> = {}): Promise<ListeningServer> =>
  serve({ environment: { PATH: process.env["PATH"] }, limits });

async function errorOf(
  promise: Promise<unknown>,
): Promise<{ code?: string; message: string; data?: unknown }> {
  return promise.then(
    () => expect.unreachable("it should fail"),
    (error: { code?: string; message: string; data?: unknown }) => error,
  );
}

const SLEEP = ["sleep", "60"];

test("principals see nothing of each other: no names, no errors that differ, no room taken", async () => {
  await using server = await serve({
    environment: { PATH: process.env["PATH"] },
    authentication: { mode: "signed-bearer-token", secret: SECRET, maxClockSkewSeconds: 0 },
    limits: { maxKeptProcesses: 2 },
  });
  const as = (claims: object): Promise<Host> => connect(server.url, { token: tokenOf(claims) });
  await using ann = await as({ sub: "ann" });
  await using bob = await as({ sub: "bob" });
  const started = await ann.start(SLEEP, { keep: "web" });
  await ann.start(SLEEP, { keep: "db" });

  const used = await errorOf(bob.attachKept("web", { mode: "control" }));
  const unused = await errorOf(bob.attachKept("nix", { mode: "control" }));
  expect(used).toMatchObject({ code: "NOT_FOUND", data: unused.data });
  expect(used.message.replaceAll("web", "nix")).toBe(unused.message);
  expect(await bob.processes({ scope: "kept" })).toEqual([]);
  // The same names are free, and there is as much room.
  const mine = await bob.start(["sh", "-c", "echo bob"], { keep: "web" });
  await bob.start(["true"], { keep: { name: "db", replace: true } });
  expect((await inTime(mine.communicate(), "bob's output")).stdout).toBe("bob\n");
  await bob.start(["true"], { keep: "third" });
  expect(
    (await ann.processes({ scope: "kept" })).map(({ name, owner, state }) => [name, owner, state]),
  ).toEqual([
    ["web", "subject:ann", "running"],
    ["db", "subject:ann", "running"],
  ]);
  expect((await errorOf(ann.start(SLEEP, { keep: "third" }))).code).toBe("LIMIT_REACHED");

  // A renewed token is the same principal; one of another issuer, or without a subject, is not.
  await using renewed = await as({ sub: "ann", jti: "2" });
  expect(await renewed.processes({ scope: "kept" })).toHaveLength(2);
  for (const claims of [{ sub: "ann", iss: "other" }, {}, { sub: "" }]) {
    await using other = await as(claims);
    expect(await other.processes({ scope: "kept" })).toEqual([]);
  }
  expect(started.isClosed).toBe(false);
});

test("a session of another principal can be neither resumed nor attached to, and its processes live on", async () => {
  await using server = await serve({
    environment: { PATH: process.env["PATH"] },
    authentication: { mode: "signed-bearer-token", secret: SECRET, maxClockSkewSeconds: 0 },
  });
  const ann = await connect(server.url, { token: tokenOf({ sub: "ann" }) });
  const started = await ann.start(SLEEP, { keep: "web", processId: "p" });
  await ann.start(SLEEP, { processId: "own" });
  const pid = started.pid!;
  const { sessionId } = ann;
  await using bob = await connect(server.url, { token: tokenOf({ sub: "bob" }) });
  const attached = bob.request("process/attach", { sessionId, processId: "own" });
  expect((await errorOf(attached)).message).toContain("unknown session id");
  await ann.detach();
  const resumed = connect(server.url, { token: tokenOf({ sub: "bob" }), resumeSessionId: sessionId });
  expect((await errorOf(resumed)).message).toContain("unknown session id");
  expect(() => process.kill(pid, 0)).not.toThrow();
  await using back = await connect(server.url, {
    token: tokenOf({ sub: "ann" }),
    resumeSessionId: sessionId,
  });
  expect(await back.processes({ scope: "kept" })).toMatchObject([{ name: "web", attached: 1 }]);
  expect(await back.request("process/terminate", { processId: "own" })).toEqual({ running: true });
});

test("the end of its session does not end a kept process, and other processes of the session end", async () => {
  await using server = await open({ detachedSessionTtlMs: 0 });
  const host = await connect(server.url);
  const kept = await host.start(SLEEP, { keep: "kept" });
  const own = await host.start(SLEEP);
  const [keptPid, ownPid] = [kept.pid!, own.pid!];
  await host.detach();
  await pollUntil(
    () => !isAlive(ownPid),
    DEADLINE_MS,
    () => "the end of the session",
  );
  expect(isAlive(keptPid)).toBe(true);
  await using again = await connect(server.url);
  const attached = await again.attachKept("kept", { mode: "control" });
  await attached.kill();
  expect(await inTime(attached.exited, "the end")).toMatchObject({ signal: "SIGKILL" });
});

test("a thousand kept processes of one client, and then none", async () => {
  const count = 1000;
  await using server = await open({ maxKeptProcesses: count });
  await using host = await connect(server.url);
  const names = Array.from({ length: count }, (_, index) => `n${index}`);
  const start = (name: string) =>
    host.start(["sh", "-c", `echo ${name}; read x`], { stdin: "pipe", keep: name });
  const started = await inTime(Promise.all(names.map(start)), "a thousand starts");
  expect((await errorOf(start("more"))).code).toBe("LIMIT_REACHED");
  const listed = await host.processes({ scope: "kept" });
  expect(new Set(listed.map(({ name }) => name))).toEqual(new Set(names));
  await Promise.all(started.map((process) => process.detach()));
  await using other = await connect(server.url);
  const ended = names.map(async (name) => {
    const process = await other.attachKept(name, { mode: "control" });
    await process.closeStdin();
    return (await process.communicate()).stdout;
  });
  expect(await inTime(Promise.all(ended), "their ends")).toEqual(names.map((name) => `${name}\n`));
  // The ended ones make room, and the oldest first.
  await host.start(["true"], { keep: "next" });
  const left = (await host.processes({ scope: "kept" })).map(({ name }) => name);
  expect([left.length, left.includes("next")]).toEqual([count, true]);
});

test("a session attaches to ended processes again and again", async () => {
  await using server = await open();
  await using host = await connect(server.url);
  const process = await host.start(["echo", "out"], { keep: "ended" });
  await inTime(process.closed, "the end");
  for (let round = 0; round < 1500; round += 1) await host.attachKept("ended");
  expect((await (await host.attachKept("ended")).communicate()).stdout).toBe("out\n");
});

test("starts, attachments and ends at the same time leave one process and no mix", async () => {
  await using server = await open();
  const hosts = await Promise.all(Array.from({ length: 4 }, () => connect(server.url)));
  const seen: (string | undefined)[] = [];
  const work = hosts.map(async (host, index) => {
    for (let round = 0; round < 25; round += 1) {
      const mark = `${index}-${round}`;
      try {
        const keep = { name: "raced", replace: true };
        const process = await host.start(["sh", "-c", `echo ${mark}; exit 5`], { keep });
        const { stdout, exitCode } = await process.communicate();
        expect([stdout, exitCode]).toEqual([`${mark}\n`, 5]);
        seen.push(mark);
      } catch (error) {
        expect(error).toMatchObject({ code: "ALREADY_EXISTS" });
        const attached = await host.attachKept("raced").catch((failure: unknown) => {
          expect(failure).toMatchObject({ code: expect.stringMatching(/^(NOT_FOUND|CONNECTION_CLOSED)$/) });
          return undefined;
        });
        const result = await attached?.communicate().catch(() => undefined);
        if (result !== undefined)
          expect(result).toMatchObject({ stdout: expect.stringMatching(/^\d+-\d+\n$/), exitCode: 5 });
        await attached?.detach();
      }
    }
  });
  await inTime(Promise.all(work), "all rounds");
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen.length).toBeGreaterThan(0);
  expect(await hosts[0]!.processes({ scope: "kept" })).toHaveLength(1);
  await Promise.all(hosts.map((host) => host.close()));
});

test("who attaches while a process ends gets all of it", async () => {
  await using server = await open();
  await using owner = await connect(server.url);
  await using other = await connect(server.url);
  const attach = async (name: string) => {
    for (;;) {
      const attached = await other.attachKept(name).catch((error: { code?: string }) => {
        expect(error.code).toBe("NOT_FOUND");
      });
      if (attached !== undefined) return attached;
    }
  };
  for (let round = 0; round < 60; round += 1) {
    const script = `i=0; while [ $i -lt ${round} ]; do echo $i; i=$((i+1)); done; exit 5`;
    const starting = owner.start(["sh", "-c", script], { keep: `n${round}` });
    const both = await inTime(Promise.all([starting, attach(`n${round}`)]), "a start and an attachment");
    const stdout = Array.from({ length: round }, (_, index) => `${index}\n`).join("");
    for (const process of both)
      expect(await inTime(process.communicate(), "the output")).toMatchObject({ stdout, exitCode: 5 });
  }
});

test("holders of the capability token are one principal", async () => {
  const tokenSha256 = createHash("sha256").update("secret-token").digest();
  await using server = await serve({ authentication: { mode: "capability-token", tokenSha256 } });
  await using one = await connect(server.url, { token: "secret-token" });
  await using two = await connect(server.url, { token: "secret-token" });
  await one.start(["/bin/sleep", "60"], { keep: "web" });
  expect(await two.processes({ scope: "kept" })).toMatchObject([{ name: "web", owner: "token" }]);
});

test("a server that closes ends kept processes, tells who is attached, and hangs nobody who attaches", async () => {
  const server = await open();
  const host = await connect(server.url);
  const process = await host.start(SLEEP, { keep: "last" });
  const follower = await connect(server.url, { recoveryTimeoutMs: 0 });
  const followed = await follower.attachKept("last");
  const ended = inTime(followed.exited, "the end for the follower");
  const attaching = Array.from({ length: 50 }, (_, index) =>
    Promise.all([
      follower.attachKept("last").catch(() => undefined),
      follower.start(SLEEP, { keep: `late${index}` }).catch(() => undefined),
    ]),
  );
  const closing = server.close();
  expect(await ended).toMatchObject({ signal: "SIGKILL", killedBy: "server" });
  await inTime(Promise.all([closing, ...attaching]), "the close");
  expect(isAlive(process.pid!)).toBe(false);
  await Promise.all([host.close(), follower.close()]);
});

test("kept processes end with shutdownGraceMs as others do", async () => {
  const server = await open({ shutdownGraceMs: 10_000 });
  await using host = await connect(server.url);
  const polite = await host.start(
    ["sh", "-c", "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done"],
    {
      keep: "polite",
    },
  );
  const text: string[] = [];
  const up = createDeferred<void>();
  const reading = (async () => {
    for await (const line of polite.lines()) {
      text.push(line);
      up.resolve();
    }
  })().catch(() => {});
  await inTime(up.promise, "the trap");
  await inTime(server.close(), "the close");
  await reading;
  expect(text).toEqual(["up", "bye"]);
});

test("a flood past a stopped follower and a stopped starter does not wait, and both can continue", async () => {
  await using server = await open();
  await using host = await connect(server.url);
  await using other = await connect(server.url);
  const script = "read go; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo end; read go; echo on";
  const started = await host.start(["sh", "-c", script], { stdin: "pipe", keep: "flood" });
  const followed = await other.attachKept("flood", { mode: "control" });
  const gaps = { started: 0, followed: 0 };
  const readers = {
    started: started.output({ onGap: () => (gaps.started += 1) }),
    followed: followed.output({ onGap: () => (gaps.followed += 1) }),
  };
  const firsts = [readers.started.next(), readers.followed.next()];
  await started.write("\n");
  await inTime(Promise.all(firsts), "the first pieces");
  // Without a reader, the process still ends.
  await pollUntil(
    async () => ((await host.processes({ scope: "kept" }))[0]?.outputBytes ?? 0) >= 200_000_005,
    DEADLINE_MS,
    () => "the whole flood",
  );
  await followed.write("\n");
  const tails = await Promise.all(
    Object.values(readers).map(async (reader) => {
      let tail = "";
      for await (const { bytes } of reader) tail = (tail + Buffer.from(bytes).toString()).slice(-7);
      return tail;
    }),
  );
  expect(tails).toEqual(["end\non\n", "end\non\n"]);
  expect([gaps.started > 0, gaps.followed > 0]).toEqual([true, true]);
});

test("a replaced process is gone for who was attached to it, and its output was complete", async () => {
  await using server = await open();
  await using host = await connect(server.url);
  const first = await host.start(["sh", "-c", "echo one"], { keep: "r" });
  const attached = await host.attachKept("r");
  await inTime(attached.closed, "the end");
  const second = await host.start(["sh", "-c", "echo two; sleep 60"], { keep: { name: "r", replace: true } });
  expect((await attached.communicate()).stdout).toBe("one\n");
  expect((await first.communicate()).stdout).toBe("one\n");
  expect(await errorOf(attached.snapshot())).toMatchObject({ code: "NOT_FOUND" });
  // It has a new id: the old one does not control the new process.
  expect(await first.kill()).toBe(false);
  expect(second.isClosed).toBe(false);
});

test("aborting a kept start ends the process, or prevents it", async () => {
  await using server = await open();
  await using host = await connect(server.url);
  const abort = new AbortController();
  const process = await host.start(SLEEP, { keep: "aborted", signal: abort.signal });
  abort.abort();
  expect(await inTime(process.exited, "the end")).toMatchObject({ signal: "SIGTERM" });
  const early = new AbortController();
  const name = randomUUID();
  const starting = host.start(SLEEP, { keep: name, signal: early.signal });
  early.abort();
  await expect(starting).rejects.toThrow();
  await pollUntil(
    async () =>
      (await host.processes({ scope: "kept" })).every((one) => one.name !== name || one.state !== "running"),
    DEADLINE_MS,
    () => "nothing runs",
  );
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
