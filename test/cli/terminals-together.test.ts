import { afterAll, beforeAll, expect, test } from "vitest";
import { builtCli } from "../fault/server-under-test.ts";
import { Person } from "./person.ts";
import { Tmux, type TmuxTerminal } from "./tmux.ts";

// One person in several terminals, whose own server has little patience.

const IDLE_MS = 1_000;

let tmux: Tmux;
let person: Person;

beforeAll(async () => {
  tmux = await Tmux.start();
  person = new Person();
});

afterAll(async () => {
  await tmux[Symbol.asyncDispose]();
  await person[Symbol.asyncDispose]();
});

const terminal = (...args: string[]): Promise<TmuxTerminal> =>
  tmux.open([process.execPath, builtCli, ...args], {
    columns: 120,
    cwd: person.home,
    env: { ...person.env, EXEC_SERVER_EXIT_WHEN_IDLE: `${IDLE_MS}ms` },
  });

test("What one terminal starts, others list, follow, wait for and end, also after the idle time", async () => {
  const script = "trap 'echo bye; exit 5' TERM; i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.1; done";
  const started = await terminal("run", "-d", "--name", "clock", "--", "sh", "-c", script);
  await started.shows(/^clock$/m);
  expect(await started.status()).toBe(0);
  const { pid } = await person.server();
  // No client is connected meanwhile, but something is running.
  await new Promise((resolve) => setTimeout(resolve, 2 * IDLE_MS));

  const listed = await terminal("ps");
  await listed.shows(/^clock +.*running.* sh -c /m);
  const [followed, awaited] = [await terminal("logs", "-f", "clock"), await terminal("wait", "clock")];
  await followed.shows(/^tick \d+$/m);
  const ended = await terminal("kill", "--timeout", "60s", "clock");
  expect(await ended.status()).toBe(0);
  await followed.shows(/^bye$/m);
  expect(await followed.status()).toBe(0);
  expect(await awaited.status()).toBe(5);

  // What has ended can be read for a while, so that the server stays for it too.
  await new Promise((resolve) => setTimeout(resolve, 2 * IDLE_MS));
  expect((await person.server()).pid).toBe(pid);
  const read = await terminal("logs", "--head", "1", "clock");
  await read.shows(/^tick 1$/m);
  expect(await (await terminal("wait", "clock")).status()).toBe(5);
});
