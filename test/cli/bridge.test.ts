import { afterAll, beforeAll, expect, test } from "vitest";
import { CommandLine } from "./command-line.ts";

let line: CommandLine;

beforeAll(async () => {
  line = await CommandLine.start();
});
afterAll(() => line[Symbol.asyncDispose]());

const request = (id: number, method: string, params: unknown): string =>
  JSON.stringify({ id, method, params });
const INITIALIZE = request(1, "initialize", { clientName: "test" });
const INITIALIZED = JSON.stringify({ method: "initialized" });

async function answers(...messages: string[]): Promise<{ status: number | null; answered: unknown[] }> {
  const { status, stdout } = await line.run("exec-server bridge --stdio", {
    input: `${messages.join("\n")}\n`,
  });
  const texts = stdout.split("\n").filter((text) => text !== "");
  return { status, answered: texts.map((text) => (JSON.parse(text) as { id?: unknown }).id) };
}

test("A bridge answers everything that came before the end of its stdin", async () => {
  expect(await answers(INITIALIZE)).toEqual({ status: 0, answered: [1] });
  const read = (id: number): string => request(id, "fs/readFile", { path: "file:///etc/hostname" });
  const ids = Array.from({ length: 50 }, (_, index) => index + 2);
  expect(await answers(INITIALIZE, INITIALIZED, ...ids.map(read))).toEqual({
    status: 0,
    answered: [1, ...ids],
  });
});

test("A bridge does not stay for an answer that takes its time", async () => {
  const start = { processId: "p", argv: ["sleep", "60"], cwd: "file:///", env: {}, tty: false };
  const read = { processId: "p", afterSeq: 0, waitMs: 60_000 };
  const { status, answered } = await answers(
    INITIALIZE,
    INITIALIZED,
    request(2, "process/start", start),
    request(3, "process/read", read),
  );
  expect({ status, first: answered.slice(0, 2) }).toEqual({ status: 0, first: [1, 2] });
});
