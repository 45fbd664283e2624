import { expect } from "vitest";
import {
  collect,
  isRunning,
  outputOf,
  run,
  shell,
  untilNumber,
  untilOutput,
  write,
} from "./process-events.ts";
import type { RawPeer } from "./raw-peer.ts";
import { base64, expectError, start, verifies } from "./verifies.ts";

const ACCEPTED = { status: "accepted" };
const MEBIBYTE = 1024 * 1024;

function writeAs(peer: RawPeer, processId: string, writeId: string, data: string) {
  return peer.request("process/write", { processId, chunk: base64(data), writeId });
}

async function startCat(peer: RawPeer, processId: string): Promise<void> {
  await peer.request("process/start", start(processId, ["cat"], { pipeStdin: true }));
}

/** Bytes without a short period, so that lost, doubled or swapped pieces show. */
function pattern(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let index = 0; index < length; index++) bytes[index] = (index * 31 + (index >> 8) * 7) & 255;
  return bytes;
}

verifies("process.write:pipe", async ({ peer }) => {
  const connection = await peer();
  await startCat(connection, "p");
  expect(await writeAs(connection, "p", "1", "one\n")).toEqual(ACCEPTED);
  expect(await untilOutput(connection, "p", /\n/)).toBe("one\n");
  expect(await writeAs(connection, "p", "2", "two\n")).toEqual(ACCEPTED);
  expect(await untilOutput(connection, "p", /two\n/)).toBe("one\ntwo\n");
});

verifies("process.write:order", async ({ peer }) => {
  const connection = await peer();
  await startCat(connection, "p");
  const words = Array.from({ length: 200 }, (_, index) => `${index} `);
  const answers = await Promise.all(words.map((word) => writeAs(connection, "p", word, word)));
  expect(answers).toEqual(words.map(() => ACCEPTED));
  expect(await untilOutput(connection, "p", /199 $/)).toBe(words.join(""));
});

verifies("process.write:every-byte", async ({ peer }) => {
  const connection = await peer();
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, value) => value));
  await connection.request("process/start", start("p", ["head", "-c", "256"], { pipeStdin: true }));
  await write(connection, "p", bytes);
  expect((await collect(connection, "p")).stdout).toEqual(bytes);
});

verifies("process.write:large", async ({ peer }) => {
  const connection = await peer();
  const bytes = pattern(MEBIBYTE);
  await connection.request("process/start", start("p", ["head", "-c", `${MEBIBYTE}`], { pipeStdin: true }));
  expect(await write(connection, "p", bytes)).toEqual(ACCEPTED);
  const { stdout, exitCode } = await collect(connection, "p");
  expect({ exitCode, same: stdout.equals(bytes), length: stdout.length }).toEqual({
    exitCode: 0,
    same: true,
    length: MEBIBYTE,
  });
});

verifies("process.write:same-id-once", async ({ peer }) => {
  const connection = await peer();
  await startCat(connection, "p");
  const answers = [
    await writeAs(connection, "p", "same", "first "),
    await writeAs(connection, "p", "same", "first "),
    await writeAs(connection, "p", "same", "other "),
    await writeAs(connection, "p", "next", "end"),
  ];
  expect(answers).toEqual([ACCEPTED, ACCEPTED, ACCEPTED, ACCEPTED]);
  expect(await untilOutput(connection, "p", /end/)).toBe("first end");
});

verifies("process.write:ids-per-process", async ({ peer }) => {
  const connection = await peer();
  for (const id of ["p", "q"]) {
    await startCat(connection, id);
    await writeAs(connection, id, "1", `to ${id}`);
    expect(await untilOutput(connection, id, /./)).toBe(`to ${id}`);
  }
});

verifies("process.write:remembers-ids", async ({ peer }) => {
  const connection = await peer();
  await startCat(connection, "p");
  const ids = Array.from({ length: 4096 }, (_, index) => `id ${index}`);
  await Promise.all(ids.map((id) => writeAs(connection, "p", id, "")));
  await writeAs(connection, "p", "id 0", "oldest is remembered ");
  await writeAs(connection, "p", "one more", "");
  await writeAs(connection, "p", "id 4095", "newest is remembered ");
  await writeAs(connection, "p", "id 0", "oldest is forgotten ");
  await writeAs(connection, "p", "last", "end");
  expect(await untilOutput(connection, "p", /end/)).toBe("oldest is forgotten end");
});

verifies("process.write:refused-id-is-free", async ({ peer }) => {
  const connection = await peer();
  expect(await writeAs(connection, "p", "1", "early")).toEqual({ status: "unknownProcess" });
  await startCat(connection, "p");
  expect(await writeAs(connection, "p", "1", "in time")).toEqual(ACCEPTED);
  expect(await untilOutput(connection, "p", /./)).toBe("in time");
});

verifies("process.write:empty-id", async ({ peer }) => {
  const connection = await peer();
  await startCat(connection, "p");
  await connection.request("process/start", start("no stdin", ["sleep", "60"]));
  for (const id of ["p", "no stdin", "nobody"]) {
    await expectError(writeAs(connection, id, "", "x"), -32602, "writeId must not be empty");
  }
});

verifies("process.write:required-members", async ({ peer }) => {
  const connection = await peer();
  await startCat(connection, "p");
  const params = { processId: "p", chunk: "", writeId: "1" };
  for (const member of ["processId", "chunk", "writeId"]) {
    // Clients of older servers omit writeId, which has separate requirements.
    if (member !== "writeId") {
      const { [member]: _, ...rest } = params as Record<string, string>;
      await expectError(connection.request("process/write", rest), -32602, `missing field \`${member}\``);
    }
    for (const [value, type] of [
      [null, "null"],
      [1, "number"],
    ]) {
      await expectError(
        connection.request("process/write", { ...params, [member]: value }),
        -32602,
        `invalid type: ${type}, expected a string`,
      );
    }
  }
});

verifies("process.write:bad-base64", async ({ peer }) => {
  const connection = await peer();
  await startCat(connection, "p");
  const refused: [string, string][] = [
    ["****", "Invalid symbol 42, offset 0."],
    ["YQ", "Invalid padding"],
    ["YQ=", "Invalid padding"],
    ["_-8=", "Invalid symbol 95, offset 0."],
    ["Y Q=", "Invalid symbol 32, offset 1."],
    ["YR==", "Invalid last symbol 82, offset 1."],
  ];
  for (const [chunk, message] of refused) {
    const params = { processId: "p", chunk, writeId: "1" };
    await expectError(connection.request("process/write", params), -32602, message);
  }
  await writeAs(connection, "p", "1", "good");
  expect(await untilOutput(connection, "p", /./)).toBe("good");
});

verifies("process.write:empty-chunk", async ({ peer }) => {
  const connection = await peer();
  await startCat(connection, "p");
  expect(await writeAs(connection, "p", "empty", "")).toEqual(ACCEPTED);
  expect(await writeAs(connection, "p", "empty", "again")).toEqual(ACCEPTED);
  await writeAs(connection, "p", "last", "end");
  expect(await untilOutput(connection, "p", /end/)).toBe("end");
});

verifies("process.write:stdin-closed", async ({ peer }) => {
  const connection = await peer();
  await connection.request("process/start", start("running", ["sleep", "60"]));
  await run(connection, "closed", ["true"]);
  for (const id of ["running", "closed"]) {
    expect(await writeAs(connection, id, "1", "x")).toEqual({ status: "stdinClosed" });
  }
});

verifies("process.write:unknown-process", async ({ peer }) => {
  const connection = await peer();
  expect(await writeAs(connection, "nobody", "1", "x")).toEqual({ status: "unknownProcess" });
});

verifies("process.write:after-exit", async ({ peer }) => {
  const connection = await peer();
  await run(connection, "pipe", ["true"], { pipeStdin: true });
  await run(connection, "tty", ["true"], { tty: true });
  for (const id of ["pipe", "tty"]) {
    expect(await writeAs(connection, id, "1", "too late")).toEqual(ACCEPTED);
    expect(await writeAs(connection, id, "2", "too late")).toEqual(ACCEPTED);
  }
});

verifies("process.write:after-terminate", async ({ peer }) => {
  const connection = await peer();
  for (const overrides of [{ pipeStdin: true }, { tty: true }]) {
    const id = Object.keys(overrides).join("");
    await connection.request("process/start", start(id, ["sleep", "60"], overrides));
    await connection.request("process/terminate", { processId: id });
    await collect(connection, id);
    await expectError(writeAs(connection, id, "1", "x"), -32603, "failed to write to process stdin");
  }
});

verifies("process.write:closed-by-child", async ({ peer }) => {
  const connection = await peer();
  const script = shell("exec 0<&-; echo $$; exec sleep 60");
  await connection.request("process/start", start("p", script, { pipeStdin: true }));
  const pid = await untilNumber(connection, "p");
  for (const id of ["1", "2", "3"]) expect(await writeAs(connection, "p", id, "x")).toEqual(ACCEPTED);
  expect(isRunning(pid)).toBe(true);
  expect(await outputOf(connection, "q", ["echo", "still serving"])).toBe("still serving\n");
});

verifies("process.write:terminal-without-pipe-stdin", async ({ peer }) => {
  const connection = await peer();
  for (const pipeStdin of [false, true]) {
    const id = `pipeStdin ${pipeStdin}`;
    await connection.request(
      "process/start",
      start(id, shell("read line; exit 7"), { tty: true, pipeStdin }),
    );
    expect(await writeAs(connection, id, "1", "go\n")).toEqual(ACCEPTED);
    expect((await collect(connection, id)).exitCode).toBe(7);
  }
});
