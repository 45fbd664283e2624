import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import { CuttingProxy } from "../e2e/cutting-proxy.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { clientTargets, OURS, usingTarget } from "./client-targets.ts";
import { connect, serve } from "./served.ts";

// This server's extensions through the library, and the library's errors if they are missing.

const DEADLINE_MS = 20_000;
const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

const ours = clientTargets.filter(({ name }) => name.startsWith("our server"));
const theirs = clientTargets.filter(({ name }) => name.startsWith("the real server"));

describe.each(ours)("$name", ({ start }) => {
  let host: Host;

  usingTarget(start, (connected) => (host = connected));

  test("a terminal changes its size", async () => {
    await using shell = await host.terminal(["sh", "-c", "stty size; read go; stty size"], {
      cols: 90,
      rows: 20,
    });
    await shell.resize({ cols: 120, rows: 40 });
    await shell.write("\n");
    let screen = "";
    for await (const { bytes } of shell.output()) screen += Buffer.from(bytes).toString();
    expect(screen).toMatch(/20 90|40 120/);
    expect(screen).toMatch(/40 120\r\n$/);
  });

  test("stdin ends when it is closed", async () => {
    await using cat = await host.start(["cat"], { stdin: "pipe" });
    await cat.write("all there is");
    await cat.closeStdin();
    expect((await inTime(cat.communicate(), "cat to end")).stdout).toBe("all there is");
  });

  test("signals go by name, and the report names the one that ended the process", async () => {
    await using sleeper = await host.start(["sleep", "60"]);
    await sleeper.signal("SIGUSR1");
    const report = await inTime(sleeper.exited, "the end");
    expect(report).toMatchObject({ exitCode: 138, signal: "SIGUSR1" });
  });

  test("a graceful end lets the process finish, and kills what does not", async () => {
    await using polite = await host.start([
      "sh",
      "-c",
      "trap 'echo bye; exit 0' TERM; echo ready; sleep 60 & wait",
    ]);
    await inTime(polite.output()[Symbol.asyncIterator]().next(), "the trap");
    expect(await polite.terminate({ timeoutMs: 10_000 })).toBe(true);
    expect(await inTime(polite.exited, "the end")).toMatchObject({ exitCode: 0 });

    await using stubborn = await host.start([
      "sh",
      "-c",
      "trap '' TERM; echo ready; while :; do sleep 60; done",
    ]);
    await inTime(stubborn.output()[Symbol.asyncIterator]().next(), "the trap");
    await stubborn.terminate({ timeoutMs: 100 });
    expect(await inTime(stubborn.exited, "the end")).toMatchObject({ exitCode: 137, signal: "SIGKILL" });
  });

  test.each([
    ["a process", ""],
    ["what a process has started", "exec setsid "],
  ])("a graceful end reaches %s that is stopped", async (_, through) => {
    // It starts nothing later: a shell whose new child is stopped before it runs its program cannot be stopped itself.
    const polite =
      "exec 2>/dev/null; trap 'echo bye; exit 0' TERM; sleep 600 >/dev/null & echo $$; wait; wait";
    await using stopped = await host.start(["sh", "-c", `${through}sh -c "$0" & wait`, polite]);
    const output = stopped.output()[Symbol.asyncIterator]();
    const { value } = await inTime(output.next(), "the number of the process");
    const pid = Number(Buffer.from(value!.bytes).toString());
    process.kill(pid, "SIGSTOP");
    if (through === "") await stopped.signal("SIGSTOP");
    await pollUntil(
      () => readFileSync(`/proc/${pid}/stat`, "utf8").includes(") T "),
      DEADLINE_MS,
      () => "a stop",
    );
    await stopped.terminate({ timeoutMs: 60_000 });
    expect(Buffer.from((await inTime(output.next(), "its last words")).value!.bytes).toString()).toBe(
      "bye\n",
    );
    await inTime(stopped.closed, "the end");
  });

  test("a process that takes too long is ended, and it is said why", async () => {
    const { exit } = await inTime(host.run(["sleep", "60"], { timeoutMs: 100 }), "the end");
    expect(exit).toMatchObject({ timedOut: true, killedBy: "timeout" });
  });

  test("the output ends with the process, although a background child holds it", async () => {
    const { stdout, durationMs } = await inTime(
      host.run(["sh", "-c", "sleep 30 & echo started"], { closeOnExit: true }),
      "the end",
    );
    expect(stdout).toBe("started\n");
    expect(durationMs).toBeLessThan(DEADLINE_MS);
  });

  test("a snapshot has both ends and counts what is between them", async () => {
    await using loud = await host.start(["sh", "-c", "seq 1 100000; echo oops >&2; sleep 60"]);
    const total = 588_895;
    await inTime(
      (async () => {
        for await (const { stream } of loud.output()) if (stream === "stderr") break;
      })(),
      "the last line",
    );
    const { streams, running } = await loud.snapshot({ maxBytes: 100 });
    const stdout = streams.find(({ stream }) => stream === "stdout");
    expect(running).toBe(true);
    expect(Buffer.from(stdout!.head).toString()).toMatch(/^1\n2\n3\n/);
    expect(Buffer.from(stdout!.tail).toString()).toMatch(/99999\n100000\n$/);
    expect(stdout!.head.length + stdout!.tail.length + stdout!.omittedBytes).toBe(total);
    expect(stdout!.totalBytes).toBe(total);
  });

  test("a list of processes that is too long for a message is complete", async () => {
    const label = randomUUID();
    const argv = ["true", ...Array.from({ length: 90_000 }, () => "x")];
    const ids: string[] = [];
    for (let count = 0; count < 4; count += 1) ids.push((await host.start(argv, { label })).id);
    const listed = (await host.processes()).filter((process) => process.label === label);
    expect(listed.map(({ processId, argv: shown }) => [processId, shown.length])).toEqual(
      ids.map((id) => [id, 65_536]),
    );
  });

  test("processes are listed, with their labels", async () => {
    const label = randomUUID();
    await using sleeper = await host.start(["sleep", "60"], { label, cwd: "/" });
    const listed = (await host.processes()).find((process) => process.label === label);
    expect(listed).toMatchObject({
      processId: sleeper.id,
      argv: ["sleep", "60"],
      cwd: "file:///",
      state: "running",
      own: true,
    });
    await expect(host.processes({ scope: "server" })).rejects.toThrow(
      /does not show the processes of other sessions/,
    );
  });

  test("files move, and watchers learn of it", async () => {
    const directory = (await host.run(["mktemp", "-d"], { check: true })).stdout.trim();
    try {
      const changes = await host.files.watch(directory);
      await host.files.write(`${directory}/a`, "1");
      await host.files.rename(`${directory}/a`, `${directory}/b`);
      const seen = new Set<string>();
      while (!seen.has(`${directory}/b`)) {
        const { value, done } = await inTime(changes.next(), "a change");
        expect(done).toBe(false);
        for (const path of value!.paths) seen.add(path);
      }
      await changes.return?.();
      expect(await host.files.readText(`${directory}/b`)).toBe("1");
      expect(await host.files.exists(`${directory}/a`)).toBe(false);
    } finally {
      await host.files.remove(directory, { recursive: true });
    }
  });

  test("limits bite", async () => {
    const { stdout } = await host.run(["sh", "-c", "ulimit -n"], { limits: { openFiles: 33 } });
    expect(stdout).toBe("33\n");
  });
});

test.runIf(OURS.isSocket)("a start whose answer was lost is made once", async () => {
  const target = await OURS.start();
  try {
    await using proxy = await CuttingProxy.open(target.url!);
    await using host = await connect(proxy.url);
    const mark = randomUUID();
    proxy.cutWithin(({ result }) => result?.["sandboxType"] === "none");
    const starting = host.start(["sh", "-c", `echo ${mark}; sleep 60`]);
    await proxy.until(() => proxy.isCut, "the cut");
    proxy.readmit();
    const started = await inTime(starting, "the start");
    const reader = started.output();
    expect(Buffer.from((await inTime(reader.next(), "the output")).value!.bytes).toString()).toBe(
      `${mark}\n`,
    );
    const running = (await host.processes()).filter(({ argv }) => argv.join(" ").includes(mark));
    expect(running).toHaveLength(1);
  } finally {
    await target.stop();
  }
});

test("others follow a process, and cannot touch it", async () => {
  const target = await OURS.start();
  try {
    await using owner = await target.connect();
    await using guest = await target.connect();
    await using process = await owner.start(["sh", "-c", "echo begun; read line; echo $line; exit 4"], {
      stdin: "pipe",
    });
    const followed = await guest.attach(owner.sessionId, process.id);
    const output = followed.output();
    expect(Buffer.from((await inTime(output.next(), "the beginning")).value!.bytes).toString()).toBe(
      "begun\n",
    );
    await expect(followed.write("mine\n")).rejects.toThrow();
    await process.write("theirs\n");
    expect(Buffer.from((await inTime(output.next(), "the rest")).value!.bytes).toString()).toBe("theirs\n");
    expect(await inTime(followed.exited, "the end")).toMatchObject({ exitCode: 4 });
    await expect(guest.attach("no such session", process.id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  } finally {
    await target.stop();
  }
});

describe.each(theirs)("$name", ({ start }) => {
  test("what it does not have is UNSUPPORTED", async () => {
    const target = await start();
    const host = await target.connect();
    try {
      await using shell = await host.terminal(["sh"]);
      const unsupported = { code: "UNSUPPORTED" };
      await expect(shell.resize({ cols: 1, rows: 1 })).rejects.toMatchObject(unsupported);
      await expect(shell.closeStdin()).rejects.toMatchObject(unsupported);
      await expect(shell.signal("SIGTERM")).rejects.toMatchObject(unsupported);
      await expect(shell.terminate()).rejects.toMatchObject(unsupported);
      await expect(shell.snapshot()).rejects.toMatchObject(unsupported);
      await expect(host.attach(host.sessionId, shell.id)).rejects.toMatchObject(unsupported);
      await expect(host.files.rename("/a", "/b")).rejects.toMatchObject(unsupported);
      await expect(host.files.watch("/")).rejects.toMatchObject(unsupported);
      await expect(host.processes()).rejects.toMatchObject(unsupported);
      await expect(host.run(["true"], { timeoutMs: 1 })).rejects.toMatchObject(unsupported);
      await expect(host.run(["true"], { limits: { openFiles: 9 } })).rejects.toMatchObject(unsupported);
      await expect(host.run(["true"], { closeOnExit: true })).rejects.toMatchObject(unsupported);
    } finally {
      await host.close();
      await target.stop();
    }
  });
});

test("a session that its client has closed is gone at once, and one that was left waits", async () => {
  await using server = await serve();
  await using host = await connect(server.url);
  const names = async (): Promise<string[]> =>
    (await host.request("server/sessions", null)).sessions.map(({ clientName }) => clientName);
  const left = await connect(server.url, { clientName: "left" });
  const closed = await connect(server.url, { clientName: "closed" });
  expect(await names()).toEqual(expect.arrayContaining(["left", "closed"]));
  await left.detach();
  await closed.close();
  await expect.poll(names).not.toContain("closed");
  expect(await names()).toContain("left");
  await using resumed = await connect(server.url, { resumeSessionId: left.sessionId });
  expect(resumed.sessionId).toBe(left.sessionId);
});
