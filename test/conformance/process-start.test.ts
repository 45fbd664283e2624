import { expect } from "vitest";
import { collect, outputOf, read, run, shell } from "./process-events.ts";
import type { RpcFailure } from "./raw-peer.ts";
import { base64, expectError, start, verifies } from "./verifies.ts";

const NO_SUCH_FILE = "No such file or directory (os error 2)";

verifies("process.start:result", async ({ peer }) => {
  const connection = await peer();
  expect(await connection.request("process/start", start("p", ["true"]))).toEqual({
    processId: "p",
    sandboxType: "none",
  });
});

verifies("process.start:ids-any-string", async ({ peer }) => {
  const connection = await peer();
  const ids = ["", " ", "a/b", "ü🦀\n\"'\\", "\u0000", "__proto__", "constructor", "x".repeat(5000)];
  const answers = await Promise.all(
    ids.map((id) => connection.request("process/start", start(id, shell("exit 3")))),
  );
  expect(answers.map((answer) => answer.processId)).toEqual(ids);
  for (const id of ids) {
    expect((await collect(connection, id)).exitCode).toBe(3);
    expect(await read(connection, id)).toMatchObject({ exitCode: 3, nextSeq: 3 });
  }
});

verifies("process.start:required-members", async ({ peer }) => {
  const connection = await peer();
  for (const member of ["processId", "argv", "cwd", "env", "tty"]) {
    const { [member]: _, ...params } = start("p", ["true"]);
    await expectError(connection.request("process/start", params), -32602, `missing field \`${member}\``);
  }
});

verifies("process.start:required-member-types", async ({ peer }) => {
  const connection = await peer();
  const refused: [string, unknown, string][] = [
    ["processId", 1, "invalid type: number, expected a string"],
    ["processId", null, "invalid type: null, expected a string"],
    ["argv", "true", 'invalid type: string "true", expected a sequence'],
    ["argv", null, "invalid type: null, expected a sequence"],
    ["argv", {}, "invalid type: map, expected a sequence"],
    ["argv", ["true", 1], "invalid type: number, expected a string"],
    ["argv", ["true", null], "invalid type: null, expected a string"],
    ["cwd", 1, "invalid type: number, expected a string"],
    ["cwd", null, "invalid type: null, expected a string"],
    ["env", null, "invalid type: null, expected a map"],
    ["env", [], "invalid type: sequence, expected a map"],
    ["env", "A=1", 'invalid type: string "A=1", expected a map'],
    ["env", { A: 1 }, "invalid type: number, expected a string"],
    ["env", { A: null }, "invalid type: null, expected a string"],
    ["tty", null, "invalid type: null, expected a boolean"],
    ["tty", 1, "invalid type: number, expected a boolean"],
    ["tty", "true", 'invalid type: string "true", expected a boolean'],
  ];
  await Promise.all(
    refused.map(([member, value, message]) =>
      expectError(
        connection.request("process/start", start("p", ["true"], { [member]: value })),
        -32602,
        message,
      ),
    ),
  );
});

verifies("process.start:optional-member-types", async ({ peer }) => {
  const connection = await peer();
  const refused: Record<string, unknown>[] = [
    { arg0: 1 },
    { pipeStdin: 1 },
    { pipeStdin: "true" },
    { envPolicy: "all" },
    { enforceManagedNetwork: 1 },
    { managedNetwork: 1 },
    { managedNetwork: { loopbackPorts: [70_000] } },
    { managedNetwork: { loopbackPorts: [-1] } },
    { shellSnapshot: 1 },
    { shellSnapshot: {} },
    { metadata: 1 },
    { metadata: "x" },
    { metadata: { toolCallId: 1 } },
  ];
  await Promise.all(
    refused.map((members) =>
      expectError(connection.request("process/start", start("p", ["true"], members)), -32602),
    ),
  );
});

verifies("process.start:optional-null", async ({ peer }) => {
  const connection = await peer();
  const nulls = {
    arg0: null,
    envPolicy: null,
    sandbox: null,
    managedNetwork: null,
    networkProxy: null,
    shellSnapshot: null,
    metadata: null,
  };
  expect((await run(connection, "p", shell("exit 4"), nulls)).exitCode).toBe(4);
  for (const member of ["pipeStdin", "enforceManagedNetwork"]) {
    await expectError(
      connection.request("process/start", start("q", ["true"], { [member]: null })),
      -32602,
      "invalid type: null, expected a boolean",
    );
  }
});

verifies("process.start:unknown-members", async ({ peer }) => {
  const connection = await peer();
  const members = { surprise: 1, args: ["x"], detached: true };
  expect((await run(connection, "p", shell("exit 4"), members)).exitCode).toBe(4);
});

const THREAD_ID = "0199d8e2-9c1c-7b10-8000-00000000abcd";

verifies("process.start:metadata-environment", async ({ peer }) => {
  const connection = await peer();
  const metadata = { threadId: THREAD_ID, toolCallId: "call-1" };
  const names = { CODEX_THREAD_ID: "mine", CODEX_TOOL_CALL_ID: "mine" };
  const envPolicy = {
    inherit: "none",
    ignoreDefaultExcludes: false,
    exclude: ["*"],
    set: names,
    includeOnly: ["NOTHING"],
  };
  const expected = [`CODEX_THREAD_ID=${THREAD_ID}`, "CODEX_TOOL_CALL_ID=call-1"];
  const launches = [{ env: {} }, { env: names }, { env: {}, envPolicy }];
  for (const [index, overrides] of launches.entries()) {
    const output = await outputOf(connection, `p${index}`, ["/usr/bin/env"], { ...overrides, metadata });
    expect(output.trimEnd().split("\n").sort()).toEqual(expected);
  }
});

verifies("process.start:metadata-optional", async ({ peer }) => {
  const connection = await peer();
  const cases = [{}, { threadId: null, toolCallId: null }, { turnId: 1, more: ["x"] }];
  for (const [index, metadata] of cases.entries()) {
    const output = await outputOf(connection, `p${index}`, ["/usr/bin/env"], { env: { A: "1" }, metadata });
    expect(output).toBe("A=1\n");
  }
});

verifies("process.start:metadata-thread-id", async ({ peer }) => {
  const connection = await peer();
  const encodings = [
    THREAD_ID,
    THREAD_ID.toUpperCase(),
    THREAD_ID.replaceAll("-", ""),
    `{${THREAD_ID}}`,
    `urn:uuid:${THREAD_ID}`,
  ];
  for (const threadId of encodings) {
    const overrides = { env: {}, metadata: { threadId } };
    const output = await outputOf(connection, threadId, ["/usr/bin/env"], overrides);
    expect(output).toBe(`CODEX_THREAD_ID=${THREAD_ID}\n`);
  }
  for (const threadId of ["", "thread-1", `${THREAD_ID}0`, 1]) {
    const params = start("p", ["true"], { metadata: { threadId } });
    await expectError(connection.request("process/start", params), -32602);
  }
});

verifies("process.start:params-not-object", async ({ peer }) => {
  const connection = await peer();
  for (const params of [undefined, null, "p", 1, true, []]) {
    await expectError(connection.request("process/start", params), -32602);
  }
});

verifies("process.start:empty-argv", async ({ peer }) => {
  const connection = await peer();
  for (const tty of [false, true]) {
    await expectError(
      connection.request("process/start", start("p", [], { tty })),
      -32602,
      "argv must not be empty",
    );
  }
});

verifies("process.start:duplicate-running", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", shell("read line; exit 6"), { pipeStdin: true }));
  const again = connection.request("process/start", start("p", ["true"]));
  await expectError(again, -32600, "process p already exists");
  await connection.request("process/write", { processId: "p", chunk: base64("go\n"), writeId: "1" });
  const { events, exitCode } = await collect(connection, "p");
  expect({ exitCode, kinds: events.map((event) => event.kind) }).toEqual({
    exitCode: 6,
    kinds: ["exited", "closed"],
  });
});

verifies("process.start:duplicate-closed", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "p", shell("exit 5"));
  const again = connection.request("process/start", start("p", ["true"]));
  await expectError(again, -32600, "process p already exists");
  expect(await read(connection, "p")).toMatchObject({ exitCode: 5, closed: true });
});

verifies("process.start:check-order", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("p", ["sleep", "60"]));
  const nowhere = "/nowhere/program";
  const undecodable = start("p", [], { cwd: "http://x/" });
  await expectError(
    connection.request("process/start", undecodable),
    -32602,
    "unsupported path URI scheme `http`",
  );
  await expectError(connection.request("process/start", start("p", [])), -32602, "argv must not be empty");
  await expectError(
    connection.request("process/start", start("p", [nowhere])),
    -32600,
    "process p already exists",
  );
  await expectError(connection.request("process/start", start("q", [nowhere])), -32603, NO_SUCH_FILE);
});

verifies("process.start:failure-frees-id", async ({ peer }) => {
  const connection = await peer();
  for (const tty of [false, true]) {
    const id = `tty ${tty}`;
    const failed = connection.request("process/start", start(id, ["/nowhere/program"], { tty }));
    await expectError(failed, -32603, NO_SUCH_FILE);
    await expectError(read(connection, id), -32600, `unknown process id ${id}`);
    const { events, exitCode } = await run(connection, id, shell("exit 8"), { tty });
    expect({ exitCode, seqs: events.map((event) => event.seq) }).toEqual({ exitCode: 8, seqs: [1, 2] });
  }
});

verifies("process.start:pipelined", async ({ peer }) => {
  const connection = await peer();
  const answers = await Promise.all([
    connection.request("process/start", start("p", ["cat"], { pipeStdin: true })),
    connection.request("process/write", { processId: "p", chunk: base64("abc"), writeId: "1" }),
    read(connection, "p", { waitMs: 10_000 }),
    connection.request("process/start", start("p", ["true"])).catch((error: RpcFailure) => error.message),
    connection.request("process/start", start("q", ["sleep", "60"])),
    connection.request("process/terminate", { processId: "q" }),
    read(connection, "q", { waitMs: 10_000 }),
    connection.request("process/terminate", { processId: "r" }),
    connection.request("process/start", start("r", ["true"])),
  ]);
  expect(answers[0]).toEqual({ processId: "p", sandboxType: "none" });
  expect(answers[1]).toEqual({ status: "accepted" });
  expect(answers[2].chunks).toEqual([{ seq: 1, stream: "stdout", chunk: base64("abc") }]);
  expect(answers[3]).toBe("process p already exists");
  expect(answers[5]).toEqual({ running: true });
  expect(answers[6]).toMatchObject({ chunks: [], exited: true, exitCode: 137 });
  expect(answers[7]).toEqual({ running: false });
  expect(answers[8]).toEqual({ processId: "r", sandboxType: "none" });
});
