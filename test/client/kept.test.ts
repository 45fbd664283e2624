import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Host } from "../../src/client/host/host.ts";
import type { RemoteProcess } from "../../src/client/process/remote-process.ts";
import type { ListeningServer } from "../../src/server/index.ts";
import { CuttingProxy, type WireMessage } from "../e2e/cutting-proxy.ts";
import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { clientTargets } from "./client-targets.ts";
import { connect, serve } from "./served.ts";

// Kept processes through the library.

const DEADLINE_MS = 60_000;
const inTime = <T>(promise: Promise<T>, what: string): Promise<T> =>
  withDeadline(promise, DEADLINE_MS, () => what);

const ECHO = ["sh", "-c", "echo begun; while read line; do echo got $line; done; exit 3"];

/** Reads text until it matches. */
async function until(process: RemoteProcess, pattern: RegExp): Promise<string> {
  let text = "";
  const reading = (async () => {
    for await (const { bytes } of process.output()) {
      text += Buffer.from(bytes).toString();
      if (pattern.test(text)) return;
    }
  })();
  await withDeadline(reading, DEADLINE_MS, () => `${pattern} in ${JSON.stringify(text)}`);
  expect(text).toMatch(pattern);
  return text;
}

async function listed(host: Host, name: string) {
  return (await host.processes({ scope: "kept" })).find((one) => one.name === name);
}

let server: ListeningServer;

beforeAll(async () => {
  server = await serve({ environment: { PATH: process.env["PATH"] } });
});

afterAll(async () => {
  await server.close();
});

describe("a kept process", () => {
  test("lives on when its client closes, and another takes control of it", async () => {
    const name = randomUUID();
    const first = await connect(server.url);
    const started = await first.start(ECHO, { stdin: "pipe", keep: name });
    expect([started.name, started.pid]).toEqual([name, expect.any(Number)]);
    await started.write("one\n");
    await until(started, /got one\n/);
    await first.close();

    await using second = await connect(server.url);
    const process = await second.attachKept(name, { mode: "control" });
    expect(process.name).toBe(name);
    await process.write("two\n");
    expect(await until(process, /got two\n/)).toBe("begun\ngot one\ngot two\n");
    await process.closeStdin();
    expect(await inTime(process.exited, "the end")).toMatchObject({ exitCode: 3 });
  });

  test("is not ended by disposing, and can be detached and attached again", async () => {
    const name = randomUUID();
    await using host = await connect(server.url);
    {
      await using started = await host.start(ECHO, { stdin: "pipe", keep: { name } });
      await until(started, /begun/);
    }
    const again = await host.attachKept(name, { mode: "control" });
    const reading = expect(until(again, /never/)).rejects.toMatchObject({ code: "CONNECTION_CLOSED" });
    await until(again, /begun/);
    await again.detach();
    await reading;
    await again.detach();
    expect(await listed(host, name)).toMatchObject({ state: "running", attached: 0 });
    const third = await host.attachKept(name, { mode: "control" });
    expect(await third.kill()).toBe(true);
    expect(await inTime(third.exited, "the end")).toMatchObject({ signal: "SIGKILL" });
    await inTime(third.closed, "the end of the output");
    await host.close();
    for (const process of [again, third]) await process.detach();
  });

  test("is forgotten on request when it has ended, and its name is free", async () => {
    const name = randomUUID();
    await using host = await connect(server.url);
    const first = await host.start(["echo", "first"], { keep: name });
    const followed = await host.attachKept(name);
    await inTime(first.closed, "the end");
    await expect(followed.detach({ forget: true })).rejects.toMatchObject({ code: "USAGE" });
    expect(await listed(host, name)).toMatchObject({ state: "closed" });
    await first.detach({ forget: true });
    expect(await listed(host, name)).toBeUndefined();
    await expect(host.attachKept(name)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: expect.stringMatching(
        `no kept process ${name}; it ended, and was forgotten on a client's request`,
      ),
    });
    const second = await host.start(["echo", "second"], { keep: name });
    expect(await inTime(second.communicate(), "its output")).toMatchObject({ stdout: "second\n" });
    await second.detach({ forget: true });
  });

  test("is only followed unless control is asked for", async () => {
    const name = randomUUID();
    await using host = await connect(server.url);
    const started = await host.start(ECHO, { stdin: "pipe", keep: name });
    const followed = await host.attachKept(name);
    const refused = { code: "USAGE", message: expect.stringContaining("mode control") };
    await expect(followed.write("x\n")).rejects.toMatchObject(refused);
    await expect(followed.closeStdin()).rejects.toMatchObject(refused);
    await expect(followed.resize({ cols: 10, rows: 10 })).rejects.toMatchObject(refused);
    await expect(followed.signal("SIGTERM")).rejects.toMatchObject(refused);
    await expect(followed.terminate()).rejects.toMatchObject(refused);
    await expect(followed.kill()).rejects.toMatchObject(refused);
    await started.write("y\n");
    await until(followed, /got y/);
    await started.kill();
    expect(await inTime(followed.exited, "the end")).toMatchObject({ signal: "SIGKILL" });
  });

  test("two who control it write under ids of their own", async () => {
    const name = randomUUID();
    await using one = await connect(server.url);
    await using two = await connect(server.url);
    const started = await one.start(ECHO, { stdin: "pipe", keep: name });
    const other = await two.attachKept(name, { mode: "control" });
    await started.write("a\n");
    await other.write("b\n");
    await started.write("c\n");
    await other.write("d\n");
    expect(await until(other, /got d\n/)).toBe("begun\ngot a\ngot b\ngot c\ngot d\n");
    await started.kill();
  });

  test("has a name that is free again when it has ended, on request", async () => {
    const name = randomUUID();
    await using host = await connect(server.url);
    const first = await host.start(ECHO, { stdin: "pipe", keep: name });
    const taken = { code: "ALREADY_EXISTS" };
    await expect(host.start(["true"], { keep: name })).rejects.toMatchObject(taken);
    await expect(host.start(["true"], { keep: { name, replace: true } })).rejects.toMatchObject(taken);
    await first.closeStdin();
    await inTime(first.closed, "the end");
    await expect(host.start(["true"], { keep: name })).rejects.toMatchObject(taken);
    const absent = host.start(["/no/such/program"], { keep: { name, replace: true } });
    await expect(absent).rejects.toMatchObject({ code: "SPAWN_FAILED" });
    expect(await listed(host, name)).toMatchObject({ exitCode: 3, state: "closed" });
    const second = await host.start(["sh", "-c", "echo new; exit 4"], { keep: { name, replace: true } });
    expect(await inTime(second.exited, "the second end")).toMatchObject({ exitCode: 4 });
    const seen = await host.attachKept(name);
    expect((await inTime(seen.communicate(), "its output")).stdout).toBe("new\n");
  });

  test.each(["", "-a", ".a", "a b", "a/b", "ä", "a".repeat(129)])("is not called %j", async (name) => {
    await using host = await connect(server.url);
    await expect(host.start(["true"], { keep: name })).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  test("is listed with its name, its owner, its end and who is attached", async () => {
    const name = randomUUID();
    await using host = await connect(server.url);
    await using other = await connect(server.url);
    const before = Date.now();
    const started = await host.start(ECHO, { stdin: "pipe", keep: name, label: "a label" });
    await other.attachKept(name);
    const running = await listed(host, name);
    expect(running).toMatchObject({
      processId: name,
      name,
      owner: expect.stringMatching(/^user:./),
      attached: 2,
      label: "a label",
      own: false,
      state: "running",
    });
    expect(running).not.toHaveProperty("endedAtMs");
    expect(await host.processes()).toEqual([]);
    await other.close();
    await pollUntil(
      async () => (await listed(host, name))?.attached === 1,
      DEADLINE_MS,
      () => "one",
    );
    await started.closeStdin();
    await inTime(started.closed, "the end");
    const ended = await listed(host, name);
    expect(ended).toMatchObject({ state: "closed", exitCode: 3 });
    expect(ended!.endedAtMs).toBeGreaterThanOrEqual(before);
  });

  test("is read from any number that is retained", async () => {
    const name = randomUUID();
    await using host = await connect(server.url);
    const started = await host.start(ECHO, { stdin: "pipe", keep: name });
    await until(started, /begun/);
    for (const line of ["1", "2", "3"]) {
      await started.write(`${line}\n`);
      await until(started, new RegExp(`got ${line}\n`));
    }
    const late = await host.attachKept(name, { fromSeq: 3 });
    expect(await until(late, /got 3\n/)).toBe("got 2\ngot 3\n");
    const later = await host.attachKept(name, { fromSeq: 1000 });
    const next = until(later, /got 4\n/);
    await started.write("4\n");
    expect(await next).toBe("got 4\n");
    await started.closeStdin();
    for (const process of [late, later])
      expect(await inTime(process.exited, "the end")).toMatchObject({ exitCode: 3 });
    // All readers of a process start where it was attached.
    expect((await late.communicate()).stdout).toBe("got 2\ngot 3\ngot 4\n");
    expect((await later.communicate()).stdout).toBe("got 4\n");
    expect((await (await host.attachKept(name)).communicate()).stdout).toBe(
      "begun\ngot 1\ngot 2\ngot 3\ngot 4\n",
    );
    await expect(host.attachKept(name, { fromSeq: 0 })).rejects.toMatchObject({ code: "USAGE" });
  });

  test("that nobody keeps is not found", async () => {
    await using host = await connect(server.url);
    await expect(host.attachKept("nobody")).rejects.toMatchObject({ code: "NOT_FOUND" });
    const own = await host.start(["sleep", "60"]);
    await expect(own.detach()).rejects.toMatchObject({ code: "USAGE" });
  });
});

describe("after a cut", () => {
  const lines = (from: number, to: number): string =>
    Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}\n`).join("");

  test.each(["follow", "control"] as const)("no byte is lost or repeated with %s", async (mode) => {
    const name = randomUUID();
    await using direct = await connect(server.url);
    const started = await direct.start(["cat"], { stdin: "pipe", keep: name });
    await using proxy = await CuttingProxy.open(server.url);
    await using host = await connect(proxy.url);
    const process = await host.attachKept(name, { mode });
    const output = inTime(process.communicate(), "the output");
    let written = 0;
    const write = (): Promise<void> => started.write(`line ${++written}\n`);
    // Lines are written until one of them is cut, and while no client is connected.
    for (const round of [1, 2, 3]) {
      proxy.cutWithin(({ method, connection }) => method === "process/output" && connection === round);
      await pollUntil(
        async () => (await write(), proxy.isCut),
        DEADLINE_MS,
        () => `cut ${round} after ${written} lines`,
      );
      for (let line = 0; line < 20; line += 1) await write();
      proxy.readmit();
    }
    await started.closeStdin();
    expect(await output).toMatchObject({ stdout: lines(1, written), exitCode: 0 });
  });

  test("a start whose answer was lost is not done twice, and its process is controlled", async () => {
    const name = randomUUID();
    await using proxy = await CuttingProxy.open(server.url);
    await using host = await connect(proxy.url);
    const isAnswer = ({ result }: WireMessage): boolean => result?.["sandboxType"] !== undefined;
    proxy.cutWithin(isAnswer);
    const starting = host.start(ECHO, { stdin: "pipe", keep: name });
    await proxy.until(() => proxy.isCut, "the cut");
    proxy.readmit();
    const process = await inTime(starting, "the start");
    await process.write("on\n");
    expect(await until(process, /got on\n/)).toBe("begun\ngot on\n");
    expect(await listed(host, name)).toMatchObject({ attached: 1, pid: process.pid });
    await process.kill();
  });

  test("attaching, writing and detaching are repeated without a second effect", async () => {
    const name = randomUUID();
    await using direct = await connect(server.url);
    const started = await direct.start(ECHO, { stdin: "pipe", keep: name });
    await using proxy = await CuttingProxy.open(server.url);
    await using host = await connect(proxy.url);
    const cutAnswerOf = async <T>(method: string, act: () => Promise<T>): Promise<T> => {
      proxy.cutWithin(({ id, from, connection }) =>
        proxy
          .requests(method)
          .some((asked) => from === "server" && asked.id === id && asked.connection === connection),
      );
      const acted = act();
      await proxy.until(() => proxy.isCut, `a cut of ${method}`);
      proxy.readmit();
      return inTime(acted, method);
    };
    const process = await cutAnswerOf("process/attach", () => host.attachKept(name, { mode: "control" }));
    await cutAnswerOf("process/write", () => process.write("once\n"));
    expect(await until(process, /got once\n/)).toBe("begun\ngot once\n");
    expect(await listed(direct, name)).toMatchObject({ attached: 2 });
    await cutAnswerOf("process/detach", () => process.detach());
    expect(await listed(direct, name)).toMatchObject({ attached: 1 });
    await started.kill();
  });
});

test("a follower that does not read does not delay others, and finds a gap", async () => {
  const name = randomUUID();
  await using host = await connect(server.url);
  const flood = ["sh", "-c", "read go; head -c 50000000 /dev/zero; echo done"];
  const started = await host.start(flood, { stdin: "pipe", keep: name });
  await using other = await connect(server.url);
  const slow = await other.attachKept(name);
  const gaps: number[] = [];
  const output = slow.output({ onGap: ({ fromSeq, toSeq }) => gaps.push(toSeq - fromSeq + 1) });
  const first = output.next();
  await started.write("\n");
  await inTime(first, "the first piece");
  await inTime(started.exited, "the end of the flood");
  let last = "";
  const rest = (async () => {
    for await (const { bytes } of output) last = (last + Buffer.from(bytes).toString()).slice(-5);
  })();
  await inTime(rest, "the rest");
  expect(last).toBe("done\n");
  expect(gaps.length).toBeGreaterThan(0);
  const fromFirst = (await other.attachKept(name, { fromSeq: 1 })).output();
  await expect(inTime(fromFirst.next(), "the loss")).rejects.toMatchObject({ code: "OUTPUT_LOST" });
  // Starting with the oldest retained event, there is no gap.
  let retained = 0;
  for await (const { bytes } of (await other.attachKept(name)).output()) retained += bytes.length;
  expect(retained).toBe((await listed(host, name))?.retainedBytes);
});

test.each(clientTargets.filter(({ name }) => name.includes("real server") || name.includes("stdio")))(
  "on $name keeping is UNSUPPORTED",
  async ({ start }) => {
    const target = await start();
    const host = await target.connect();
    try {
      const unsupported = { code: "UNSUPPORTED" };
      await expect(host.start(["true"], { keep: "a" })).rejects.toMatchObject(unsupported);
      await expect(host.run(["true"], { keep: "a" })).rejects.toMatchObject(unsupported);
      await expect(host.attachKept("a")).rejects.toMatchObject(unsupported);
      await expect(host.processes({ scope: "kept" })).rejects.toMatchObject(unsupported);
    } finally {
      await host.close();
      await target.stop();
    }
  },
);
