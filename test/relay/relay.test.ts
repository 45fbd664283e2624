import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Host } from "../../src/client/index.ts";
import { pollUntil } from "../fault/deadline.ts";
import { TestRelay } from "./relay-fixture.ts";

let relay: TestRelay;
let host: Host;

beforeEach(async () => {
  relay = await TestRelay.start();
  await relay.executor("build-1");
  host = await relay.connect("build-1");
});

afterEach(async () => {
  await host.close();
  await relay[Symbol.asyncDispose]();
});

test("commands and files work through a relay", async () => {
  const { stdout, exitCode } = await host.run(["sh", "-c", "cat; exit 3"], { input: "through the relay\n" });
  expect([stdout, exitCode]).toEqual(["through the relay\n", 3]);
  const directory = await mkdtemp(join(tmpdir(), "relay-"));
  const content = randomBytes(5_000_000);
  await host.files.write(`${directory}/file`, content);
  expect(content.equals(await host.files.read(`${directory}/file`))).toBe(true);
  await rm(directory, { recursive: true });
});

const LINES = 30_000;
const EXPECTED = Array.from({ length: LINES }, (_each, index) => `${index + 1}\n`).join("");

describe("nothing is lost and nothing comes twice", () => {
  test.each([
    [
      "both sockets are cut",
      async () => {
        for (const environment of relay.service.environments) environment.end("cut");
      },
    ],
    [
      "the client's socket is cut",
      async () => {
        for (const environment of relay.service.environments)
          for (const { socket } of environment.clients) socket.close(1001, "cut");
      },
    ],
    [
      "the relay dies and comes back without its state",
      async () => {
        await relay.kill();
        await relay.start();
      },
    ],
  ])("if %s", async (_what, disturb) => {
    const directory = await mkdtemp(join(tmpdir(), "relay-"));
    const [halfway, goOn] = [join(directory, "halfway"), join(directory, "go-on")];
    const script = `i=0
      while [ $i -lt ${LINES} ]; do
        i=$((i+1)); echo $i
        if [ $i = ${LINES / 2} ]; then : > ${halfway}; while [ ! -e ${goOn} ]; do sleep 0.05; done; fi
      done`;
    const running = host.run(["sh", "-c", script]);
    await pollUntil(
      () => existsSync(halfway),
      60_000,
      () => "half of the output",
    );
    await disturb();
    await writeFile(goOn, "");
    const { stdout, exitCode } = await running;
    expect(stdout === EXPECTED).toBe(true);
    expect(exitCode).toBe(0);
    expect((await host.run(["echo", "again"])).stdout).toBe("again\n");
    await rm(directory, { recursive: true });
  });
});
