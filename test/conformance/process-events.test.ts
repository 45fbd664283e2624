import { createHash } from "node:crypto";
import { expect } from "vitest";
import {
  arrivedEvents,
  collect,
  exitReport,
  fixture,
  leaveChildBehind,
  read,
  run,
  shell,
  untilNumber,
  untilOutput,
  write,
} from "./process-events.ts";
import { start, verifies } from "./verifies.ts";

const FIVE_MEBIBYTES = 5 * 1024 * 1024;
const MAX_CHUNK_BYTES = 65_536;

const bothStreams = shell("for i in 1 2 3 4 5 6 7 8; do echo out $i; echo err $i >&2; done; exit 2");

verifies("process.events:members", async ({ peer, target }) => {
  const connection = await peer();
  await run(connection, "p", shell("printf a; exit 3"));
  const params = (method: string) =>
    connection.notifications.filter((message) => message.method === method).map((message) => message.params);
  expect(params("process/output")).toEqual([
    { processId: "p", seq: expect.any(Number), stream: "stdout", chunk: "YQ==" },
  ]);
  expect(params("process/exited")).toEqual([
    {
      processId: "p",
      seq: expect.any(Number),
      exitCode: 3,
      sandboxDenied: false,
      ...(target.kind === "ours" && { exit: exitReport }),
    },
  ]);
  expect(params("process/closed")).toEqual([{ processId: "p", seq: 3 }]);
});

verifies("process.events:numbering", async ({ peer }) => {
  const connection = await peer();
  const { events } = await run(connection, "p", bothStreams);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
  expect(events.at(-1)?.kind).toBe("closed");
  expect(new Set(events.map((event) => event.stream))).toEqual(new Set(["stdout", "stderr", undefined]));
});

verifies("process.events:once", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", bothStreams);
  // Whatever the first process had left to say would come before the second one's end.
  await run(connection, "q", bothStreams);
  for (const id of ["p", "q"]) {
    const kinds = arrivedEvents(connection, id).map((event) => event.kind);
    expect(kinds.filter((kind) => kind !== "output").sort()).toEqual(["closed", "exited"]);
  }
  const { nextSeq } = await read(connection, "p");
  expect(arrivedEvents(connection, "p")).toHaveLength(nextSeq - 1);
});

verifies("process.events:ascending", async ({ peer }) => {
  const connection = await peer();
  const ids = Array.from({ length: 40 }, (_, index) => `p${index}`);
  await Promise.all(
    ids.map((id, index) =>
      connection.request("process/start", start(id, bothStreams, { tty: index % 4 === 0 })),
    ),
  );
  for (const id of ids) {
    const { events } = await collect(connection, id);
    expect(arrivedEvents(connection, id).map((event) => event.seq)).toEqual(events.map((event) => event.seq));
  }
});

verifies("process.events:silent-process", async ({ peer }) => {
  const connection = await peer();
  for (const tty of [false, true]) {
    const { events } = await run(connection, `tty ${tty}`, ["true"], { tty });
    expect(events).toEqual([
      { kind: "exited", seq: 1, exitCode: 0, sandboxDenied: false },
      { kind: "closed", seq: 2 },
    ]);
  }
});

verifies("process.events:own-counters", async ({ peer }) => {
  const connection = await peer();
  for (const id of ["p", "q", "r"]) {
    await connection.request("process/start", start(id, ["cat"], { pipeStdin: true }));
  }
  for (const round of [1, 2]) {
    for (const id of ["p", "q", "r"]) {
      await write(connection, id, `${id}${round}`);
      await untilOutput(connection, id, new RegExp(`${id}${round}`));
    }
  }
  for (const id of ["p", "q", "r"]) {
    expect(arrivedEvents(connection, id).map((event) => event.seq)).toEqual([1, 2]);
  }
});

verifies("process.events:live", async ({ peer }) => {
  const connection = await peer();
  await connection.request(
    "process/start",
    start("p", shell("echo ready; read line; exit 4"), { pipeStdin: true }),
  );
  await untilOutput(connection, "p", /ready/);
  expect(arrivedEvents(connection, "p").map((event) => event.kind)).toEqual(["output"]);
  await write(connection, "p", "go\n");
  expect((await collect(connection, "p")).exitCode).toBe(4);
});

verifies("process.events:streams", async ({ peer }) => {
  const { stdout, stderr } = await run(await peer(), "p", bothStreams);
  const lines = (name: string) => [1, 2, 3, 4, 5, 6, 7, 8].map((index) => `${name} ${index}\n`).join("");
  expect({ stdout: stdout.toString(), stderr: stderr.toString() }).toEqual({
    stdout: lines("out"),
    stderr: lines("err"),
  });
});

verifies("process.events:every-byte", async ({ peer }) => {
  const argv = [process.execPath, fixture("emit-pattern.mjs"), "256"];
  const { stdout } = await run(await peer(), "p", argv);
  expect(stdout).toEqual(Buffer.from(Array.from({ length: 256 }, (_, value) => value)));
});

verifies("process.events:chunk-size", async ({ peer }) => {
  const { events } = await run(await peer(), "p", ["head", "-c", "1000000", "/dev/zero"]);
  const sizes = events.flatMap((event) => event.bytes?.length ?? []);
  expect(Math.min(...sizes)).toBeGreaterThan(0);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_CHUNK_BYTES);
});

verifies("process.events:large-output", async ({ peer }) => {
  const argv = [process.execPath, fixture("emit-pattern.mjs"), `${FIVE_MEBIBYTES}`];
  const { stdout, stderr, exitCode } = await run(await peer(), "p", argv);
  // The program prints the hash of what it wrote on stderr.
  const hash = createHash("sha256").update(stdout).digest("hex");
  expect({ exitCode, length: stdout.length, hash }).toEqual({
    exitCode: 0,
    length: FIVE_MEBIBYTES,
    hash: stderr.toString().trim(),
  });
});

verifies("process.events:output-after-exited", async ({ peer }) => {
  const connection = await peer();
  const pid = await leaveChildBehind(connection, "p");
  process.kill(pid, "SIGUSR1");
  const { events } = await collect(connection, "p");
  expect(events.map((event) => event.kind)).toEqual(["output", "exited", "output", "closed"]);
  expect(events[2]?.bytes?.toString()).toBe("SIGUSR1\n");
});

verifies("process.events:holder-delays-closed", async ({ peer }) => {
  const connection = await peer();
  const pid = await leaveChildBehind(connection, "p");
  await run(connection, "q", shell("sleep 0.2"));
  expect(arrivedEvents(connection, "p").map((event) => event.kind)).toEqual(["output", "exited"]);
  expect(await read(connection, "p")).toMatchObject({ exited: true, exitCode: 3, closed: false });
  process.kill(pid, "SIGKILL");
  await collect(connection, "p");
});

verifies("process.events:stderr-holder-delays-closed", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("sleep 60 >/dev/null & echo $!")));
  const holder = await untilNumber(connection, "p");
  await connection.nextNotification("process/exited", "p");
  await run(connection, "q", shell("sleep 0.2"));
  expect(await read(connection, "p")).toMatchObject({ exited: true, closed: false });
  process.kill(holder, "SIGKILL");
  await collect(connection, "p");
});

verifies("process.events:end-of-output-is-not-exit", async ({ peer }) => {
  const connection = await peer();
  const script = shell("exec >&- 2>&-; read line; exit 6");
  await connection.request("process/start", start("p", script, { pipeStdin: true }));
  await run(connection, "q", shell("sleep 0.2"));
  expect(arrivedEvents(connection, "p")).toEqual([]);
  expect(await read(connection, "p")).toMatchObject({ exited: false, closed: false });
  await write(connection, "p", "go\n");
  expect((await collect(connection, "p")).exitCode).toBe(6);
});

verifies("process.events:terminal-holder", async ({ peer }) => {
  const connection = await peer();
  // The child ignores the hangup that comes with the end of the session's leader.
  const script = shell(
    "trap '' HUP; (while kill -0 $$ 2>/dev/null; do sleep 0.02; done; echo late) & echo soon",
  );
  const { events, pty } = await run(connection, "p", script, { tty: true });
  expect(pty.toString()).toBe("soon\r\nlate\r\n");
  expect(events.at(-1)?.kind).toBe("closed");
});
