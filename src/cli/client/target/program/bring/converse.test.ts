import { PassThrough, Writable } from "node:stream";
import { expect, it } from "vitest";
import type { ChildPipes } from "../../../../../transport/prepared-child.ts";
import type { Bundle } from "./bundle.ts";
import { converse, type Step } from "./converse.ts";

// The other machine says whatever it likes.

const NONCE = "abcdef";
const MARKED = `exec-server:${NONCE}`;
const HAS_NODE = [
  `${MARKED} shell`,
  `${MARKED} machine Linux x86_64 glibc 2.36`,
  `${MARKED} node 20.20.2 /usr/bin/node`,
  `${MARKED} dir /home/ann/.cache/exec-server`,
];
const PAYLOAD = Buffer.alloc(100_000, 7);
const BUNDLE: Bundle = {
  version: "1.0.0",
  name: "1.0.0-0000000000000000",
  arch: "x64",
  files: ["cli.js"],
  kilobytes: 1,
  payload: () => ({ bytes: PAYLOAD, sha256: "00" }),
  receiver: () => "receive();",
};

function open({ bundle = BUNDLE, executables = new Map() } = {}) {
  const stdout = new PassThrough();
  let written = Buffer.alloc(0);
  const stdin = new Writable({
    write: (chunk: Buffer, _, done) => {
      written = Buffer.concat([written, chunk]);
      done();
    },
  });
  const abort = new AbortController();
  const steps: Step[] = [];
  const pipes: ChildPipes = { stdout, stdin, explainEnd: async () => "ssh exited with status 1" };
  const onStep = (step: Step): void => void steps.push(step);
  const ended = converse(pipes, {
    name: "m",
    nonce: NONCE,
    bundle,
    executables,
    signal: abort.signal,
    onStep,
  });
  ended.catch(() => {}); // Each test awaits it later.
  const says = (...lines: string[]): void => void stdout.write(lines.map((line) => `${line}\n`).join(""));
  return { stdout, abort, ended, steps, says, written: () => written.toString("latin1") };
}

it("what follows the last line is the server's, and nothing is sent unasked", async () => {
  const { stdout, ended, says, written, steps } = open();
  says("Welcome", `${MARKED} shell`);
  stdout.write(`no newline ${MARKED} ready /d\n{"id":1}\n{"i`);
  await ended;
  expect(written()).toBe("");
  expect(steps.map(({ kind }) => kind)).toEqual(["shell", "ready"]);
  stdout.end('d":2}');
  expect((await stdout.toArray()).map(String).join("")).toBe('{"id":1}\n{"id":2}');
});

it("the bundle is sent when it is asked for, and once", async () => {
  const { ended, says, written } = open();
  says(...HAS_NODE, `${MARKED} send`, `${MARKED} need`, `${MARKED} need`);
  await expect.poll(() => written()).toMatch(/^node [\w+/=]+\n$/);
  const { length } = written();
  says(`${MARKED} send`, `${MARKED} send`, `${MARKED} ready /d`);
  await ended;
  // The first request came too early, and was not granted later either.
  expect(written()).toHaveLength(length);
});

it("every byte is sent after the question", async () => {
  const { ended, says, written, steps } = open();
  says(...HAS_NODE, `${MARKED} need`);
  await expect.poll(() => written()).toContain("\n");
  const { length } = written();
  says(`${MARKED} send`);
  await expect.poll(() => written()).toHaveLength(length + PAYLOAD.length);
  says(`${MARKED} ready /d`);
  await ended;
  expect(steps).toContainEqual({ kind: "sending", sent: PAYLOAD.length, total: PAYLOAD.length });
});

it.each([
  ["a machine that is a path", "Linux ../../etc/passwd glibc 2.36", "that one ../../etc/passwd"],
  ["another system", "FreeBSD amd64", "only on Linux, not on FreeBSD"],
  ["a terminal's commands", "Linux \x1b]0;x\x07 glibc 2.36", "that one \\x1b]0;x\\x07"],
])("%s is compared and shown, and used for nothing", async (_, machine, message) => {
  const { ended, says, written } = open();
  says(...HAS_NODE.with(1, `${MARKED} machine ${machine}`), `${MARKED} need`);
  await expect(ended).rejects.toThrow(message);
  expect(written()).toBe("");
});

it.each(["99999.0.0 x", "20.18.9 x", "19.30.0 x", "x", "1e9.0.0 x"])(
  "Node %j is not new enough",
  async (node) => {
    const { ended, says } = open();
    says(...HAS_NODE.with(2, `${MARKED} node ${node}`), `${MARKED} need`);
    await expect(ended).rejects.toThrow("needs Node 20.19");
  },
);

it.each([
  ["with newlines", (stdout: PassThrough) => stdout.write("x\n".repeat(200_000))],
  ["without one", (stdout: PassThrough) => stdout.write("x".repeat(400_000))],
])("output without end is given up, %s", async (_, flood) => {
  const { stdout, ended } = open();
  flood(stdout);
  await expect(ended).rejects.toThrow("prints without end");
});

it("a machine that stops answering is given up when the caller wants that", async () => {
  const { ended, says, abort } = open();
  says(...HAS_NODE);
  abort.abort(new Error("no answer"));
  await expect(ended).rejects.toThrow("no answer");
});

it("the end of the command is explained with what it printed", async () => {
  const { stdout, ended, says } = open();
  says("This account is closed.");
  stdout.end();
  await expect(ended).rejects.toThrow(
    "ssh exited with status 1: This account is closed.; its shell has not answered",
  );
});

it("the marks of another command are not its own", async () => {
  const { ended, says } = open();
  says("exec-server:fedcba failed here", `${MARKED} failed disk full: ENOSPC`);
  await expect(ended).rejects.toThrow("'m': disk full: ENOSPC; free some space there");
});
