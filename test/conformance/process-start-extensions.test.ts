import { geteuid } from "node:process";
import { expect } from "vitest";
import {
  arrivedEvents,
  collect,
  outputOf,
  read,
  run,
  shell,
  untilNumber,
  withFiles,
  write,
} from "./process-events.ts";
import { expectError, start, verifies } from "./verifies.ts";

const MEBIBYTE = 1024 * 1024;

verifies("process.start:idempotency", async ({ peer }) => {
  const connection = await peer();
  const params = start("p", shell("echo $$; exec sleep 60"), { idempotencyKey: "key" });
  const answers = await Promise.all([1, 2, 3].map(() => connection.request("process/start", params)));
  expect(answers).toEqual(answers.map(() => ({ processId: "p", sandboxType: "none" })));
  await untilNumber(connection, "p");
  await connection.request("process/terminate", { processId: "p" });
  await collect(connection, "p");
  expect(await connection.request("process/start", params)).toEqual(answers[0]);
  // Only one process ever ran: it wrote once, and ended once.
  await run(connection, "q", ["true"]);
  expect(arrivedEvents(connection, "p").map(({ kind }) => kind)).toEqual(["output", "exited", "closed"]);
  await expectError(
    connection.request("process/start", start("p", ["true"])),
    -32600,
    "process p already exists",
  );
});

verifies("process.start:pid", async ({ peer }) => {
  const connection = await peer();
  const script = shell("echo $$; exec sleep 60");
  const params = start("p", script, { tellPid: true, idempotencyKey: "key" });
  const answer = await connection.request("process/start", params);
  const pid = await untilNumber(connection, "p");
  expect(answer).toEqual({ processId: "p", sandboxType: "none", pid });
  expect(await connection.request("process/start", params)).toEqual(answer);
  for (const tellPid of [false, undefined])
    expect(
      await connection.request("process/start", start(`q ${tellPid}`, ["true"], { tellPid })),
    ).not.toHaveProperty("pid");
});

verifies("process.start:reported", async ({ connect, peer }) => {
  const asking = await connect();
  await asking.handshake({ reportStarts: true });
  const params = start("p", shell("echo $$; exec sleep 60"), { idempotencyKey: "key" });
  const from = asking.rawMessages.length;
  await asking.request("process/start", params);
  const pid = await untilNumber(asking, "p");
  await asking.request("process/start", params);
  await expectError(asking.request("process/start", start("p", ["true"])), -32600);
  const failed = await expectError(asking.request("process/start", start("q", ["/no/such/program"])), -32603);
  const told = { method: "process/started", params: { processId: "p", pid } };
  const arrived = asking.rawMessages.slice(from).map((text) => JSON.parse(text));
  expect(arrived.filter(({ method }) => method !== "process/output")).toMatchObject([
    told,
    { result: { processId: "p" } },
    told,
    { result: { processId: "p" } },
    { error: { code: -32600 } },
    {
      method: "process/failed",
      params: { processId: "q", message: failed.message, code: (failed.data as { code: string }).code },
    },
    { error: { code: -32603 } },
  ]);
  expect(arrived.findIndex(({ method }) => method === "process/output")).toBeGreaterThan(1);
  const silent = await peer();
  await run(silent, "p", ["true"]);
  await expectError(silent.request("process/start", start("q", ["/no/such/program"])), -32603);
  expect(silent.notifications.map(({ method }) => method)).toEqual(["process/exited", "process/closed"]);
});

verifies("process.start:idempotency-conflict", async ({ peer }) => {
  const connection = await peer();
  const params = start("p", ["true"], { idempotencyKey: "key" });
  await connection.request("process/start", params);
  for (const change of [{ argv: ["false"] }, { processId: "q" }, { label: "more" }]) {
    const refused = await expectError(
      connection.request("process/start", { ...params, ...change }),
      -32600,
      /^process\/start [pq]: idempotencyKey was used for another start$/,
    );
    expect(refused.data).toEqual({ code: "IDEMPOTENCY_CONFLICT", processId: "p" });
  }
  for (const idempotencyKey of ["", "x".repeat(257), 1])
    await expectError(connection.request("process/start", { ...params, idempotencyKey }), -32602);
  const another = await peer();
  expect(await another.request("process/start", { ...params, processId: "q" })).toMatchObject({
    processId: "q",
  });
});

verifies("process.start:idempotency-failed", async ({ peer }) => {
  const connection = await peer();
  const params = start("p", ["/no/such/program"], { idempotencyKey: "key" });
  await expectError(connection.request("process/start", params), -32603);
  await expectError(connection.request("process/start", params), -32603);
  expect(await connection.request("process/start", { ...params, argv: ["true"] })).toMatchObject({
    processId: "p",
  });
});

verifies("process.start:limits", async ({ peer }) => {
  const connection = await peer();
  const limits = { memoryBytes: 256 * MEBIBYTE, cpuSeconds: 10, openFiles: 33 };
  expect(
    await outputOf(connection, "told", shell("ulimit -v; ulimit -t; ulimit -n; ulimit -Hn"), { limits }),
  ).toBe("262144\n10\n33\n33\n");
  const greedy = ["dd", "if=/dev/zero", "of=/dev/null", `bs=${512 * MEBIBYTE}`, "count=1"];
  expect((await run(connection, "free", greedy)).exitCode).toBe(0);
  const { exitCode, stderr } = await run(connection, "memory", greedy, { limits });
  expect({ exitCode, stderr: stderr.toString() }).toEqual({
    exitCode: 1,
    stderr: expect.stringMatching(/memory/),
  });
  await run(connection, "cpu", shell("while :; do :; done"), { limits: { cpuSeconds: 1 } });
  expect((await read(connection, "cpu")).exit).toMatchObject({ signal: "SIGXCPU" });
  const opener = shell("exec 8</dev/null; exec 9</dev/null; echo opened");
  expect((await run(connection, "files", opener, { limits: { openFiles: 9 } })).stdout.toString()).toBe("");
  expect((await run(connection, "more files", opener, { limits: { openFiles: 32 } })).stdout.toString()).toBe(
    "opened\n",
  );
});

verifies("process.start:limits-transparent", async ({ peer }) =>
  withFiles({}, async ({ path, uri }) => {
    const connection = await peer();
    const limits = { openFiles: 100 };
    const argv = ["printf", "%s|", "a b", "", "$HOME", "-n"];
    expect(await outputOf(connection, "argv", argv, { limits })).toBe("a b||$HOME|-n|");
    expect(await outputOf(connection, "cwd", ["pwd", "-P"], { limits, cwd: uri })).toBe(`${path}\n`);
    const fds = ["ls", "/proc/self/fd"];
    expect(await outputOf(connection, "descriptors", fds, { limits })).toBe("0\n1\n2\n3\n");
    const env = { PATH: "/usr/bin:/bin", ONE: "1" };
    expect((await outputOf(connection, "env", ["env"], { limits, env })).split("\n").toSorted()).toEqual([
      "",
      "ONE=1",
      "PATH=/usr/bin:/bin",
    ]);
    expect(await outputOf(connection, "terminal", ["stty", "size"], { limits, tty: true })).toBe("24 80\r\n");
    await connection.request("process/start", start("input", ["cat"], { limits, pipeStdin: true }));
    await write(connection, "input", "typed\n");
    await connection.request("process/closeStdin", { processId: "input" });
    expect((await collect(connection, "input")).stdout.toString()).toBe("typed\n");
    expect((await run(connection, "none", ["false"], { limits: {} })).exitCode).toBe(1);
  }),
);

verifies("process.start:limits-refused", async ({ peer }) => {
  const connection = await peer();
  const startLimited = (limits: Record<string, unknown>, more = {}) =>
    connection.request("process/start", start("p", ["true"], { limits, ...more }));
  await expectError(
    startLimited({ openFiles: 10 }, { arg0: "other" }),
    -32603,
    "limits cannot be set for a program that runs under another name",
  );
  await expectError(
    startLimited({ openFiles: 2 ** 40 }),
    -32603,
    "cannot limit openFiles to 1099511627776: Operation not permitted (os error 1)",
  );
  if (geteuid?.() === 0)
    await expectError(
      startLimited({ processes: 10 }),
      -32603,
      "the number of processes cannot be limited for root",
    );
  for (const limits of [{ openFiles: 0 }, { memoryBytes: -1 }, { cpuSeconds: 1.5 }, { processes: "1" }])
    await expectError(startLimited(limits), -32602);
  // The refused starts have left nothing behind under their id.
  expect((await run(connection, "p", ["true"])).exitCode).toBe(0);
});

verifies("process.start:secrets", async ({ peer }) => {
  const connection = await peer();
  const secret = "k-abcdefghijklmnopqrst";
  const named = (secrets: readonly object[], env: Record<string, string> = { A_KEY: secret }) => ({
    secrets,
    env: { PATH: "/usr/bin:/bin", ...env },
  });
  const hosts = ["api.example.test"];
  const shown = await outputOf(
    connection,
    "p",
    ["env"],
    named([{ name: "A_KEY", hosts }], { A_KEY: secret, B: `x${secret}` }),
  );
  expect(shown).toMatch(/^A_KEY=[a-z]-[a-z]{20}$/m);
  expect(shown).toMatch(/^HTTPS_PROXY=http:\/\/127\.0\.0\.1:\d+$/m);
  expect(shown).toMatch(/^NO_PROXY=$/m);
  expect(shown).not.toContain(secret);
  expect(await outputOf(connection, "none", ["env"], named([]))).toContain(secret);
});

verifies("process.start:secrets-refused", async ({ peer }) => {
  const connection = await peer();
  const startNamed = (secrets: readonly object[], env: Record<string, string> = {}) =>
    connection.request("process/start", start("p", ["true"], { secrets, env }));
  const env = { A_KEY: "k-abcdefghijklmnopqrst" };
  const hosts = ["api.example.test"];
  await expectError(
    startNamed([{ name: "NONE", hosts }]),
    -32004,
    "unknown secret 'NONE'; this client may use none",
  );
  await expectError(
    startNamed([{ name: "A_KEY" }], env),
    -32602,
    "the secret A_KEY needs hosts: this client brings it itself",
  );
  await expectError(startNamed([{ name: "A_KEY", hosts: ["http://example.test"] }], env), -32602);
  await expectError(
    startNamed(
      [
        { name: "A_KEY", hosts },
        { name: "A_KEY", hosts },
      ],
      env,
    ),
    -32602,
    "more than one of the secrets would be in A_KEY",
  );
  for (const secrets of [
    [{ name: "" }],
    [{ name: "a b" }],
    [{}],
    ["A_KEY"],
    {},
    Array.from({ length: 33 }, () => ({ name: "A_KEY", hosts })),
  ])
    await expectError(startNamed(secrets as object[], env), -32602);
  expect((await run(connection, "p", ["true"])).exitCode).toBe(0);
});
