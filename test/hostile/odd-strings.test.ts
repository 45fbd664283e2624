import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withDeadline } from "../fault/deadline.ts";
import { frame } from "../fault/raw-websocket.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { methods } from "../../src/protocol/index.ts";
import type { ReadResult } from "../fault/session-client.ts";
import { AttackedServer } from "./attacked-server.ts";
import { type Answer, framesOf, HostileConnection } from "./hostile-connection.ts";
import { hostileRounds, randomOf, withSeed } from "./hostile-run.ts";
import { NOT_UTF8, oddString, withBytes } from "./odd-strings.ts";
import { type Hint, type Json, METHOD_NAMES, completeParams, placesOf, textWith } from "./wire-samples.ts";

const NOBODY = 65_534;
const TIMES = 4;
/** As the wire table says: an odd path can be that of the disk's root. */
const CHANGING_FILES = new Set<string>([
  "fs/open",
  "unix/listen",
  ...METHOD_NAMES.filter((name) => methods[name].right === "writeFiles"),
]);
const DEADLINE_MS = 60_000;

let base = "";
beforeAll(() => {
  base = mkdtempSync("/var/tmp/exec-server-hostile-");
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

const hint: Hint = (field, random): Json | undefined => {
  switch (field) {
    case "path":
    case "cwd":
    case "from":
    case "to":
    case "sourcePath":
    case "destinationPath":
    case "missing":
    case "present":
      return `file://${base}/`;
    case "argv":
      return ["true", "x"];
    case "url":
      return "http://127.0.0.1:1/";
    case "dataBase64":
    case "chunk":
    case "bodyBase64":
      return "eA==";
    case "sandbox":
      return null;
    case "offset":
    case "len":
      return random.between(1, 10);
    case "waitMs":
    case "timeoutMs":
      return random.between(0, 50);
    default:
      return undefined;
  }
};

type Random = ReturnType<typeof randomOf>;

/** Requests with an odd string in each field, and as the name of each, that many times. */
function* oddRequests(random: Random, times: number): Generator<string> {
  let id = 10;
  for (const method of METHOD_NAMES) {
    if (method === "initialize") continue; // there is a session
    for (let left = times; left > 0; left--) {
      const params = completeParams(method, random, hint);
      const places = placesOf(params).filter(({ kind }) => kind === "string" || kind === "key");
      for (const place of places) {
        const field = place.path.findLast((step) => typeof step === "string") ?? "";
        const usual = place.kind === "string" ? hint(field, random) : undefined;
        const odd = oddString(random, typeof usual === "string" ? usual : undefined);
        yield `{"id":${id++},"method":"${method}","params":${textWith(params, place, odd)}}`;
      }
    }
  }
}

function expectReason(answer: Answer | undefined, text: string): void {
  const shown = text.slice(0, 400);
  expect({ shown, answered: answer !== undefined }).toEqual({ shown, answered: true });
  expect(answer?.error?.message ?? "", shown).not.toMatch(/internal error/i);
}

describe("odd strings in every field", () => {
  it("are served, or refused for a reason, over WebSockets", () =>
    withSeed(async () => {
      await using target = await AttackedServer.start({ user: NOBODY });
      const random = randomOf("odd strings");
      let connection = await HostileConnection.open(target.server);
      for (const text of oddRequests(random, TIMES * hostileRounds)) {
        for (const piece of framesOf(Buffer.from(text), random)) connection.raw.write(piece);
        expectReason(await connection.answer(text.slice(0, 400)), text);
        if (random.next() > 0.1) continue;
        // Text that is not UTF-8 breaks the framing and ends the connection; the same in a binary frame is one bad message.
        const bytes = withBytes(text, random.pick(NOT_UTF8), random);
        if (random.next() < 0.5) {
          connection.raw.write(frame(bytes, { opcode: 2 }));
          expectReason(await connection.answer(text.slice(0, 400)), text);
        } else {
          connection.raw.write(frame(bytes));
          await connection.raw.endedByServer();
          connection = await HostileConnection.open(target.server);
        }
      }
      connection.raw.cut();
      await target.expectUnharmed("afterwards");
    }));

  it("are served, or refused for a reason, over stdio, whatever bytes are among the lines", () =>
    withSeed(async () => {
      const random = randomOf("odd lines");
      const child = spawn(process.execPath, [builtCli, "--stdio", "--log-level", "debug"], {
        stdio: ["pipe", "pipe", "pipe"],
        env: { PATH: process.env["PATH"], HOME: base, CODEX_HOME: base },
        cwd: base,
      });
      let log = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        log += text;
      });
      const answers: Answer[] = [];
      let wanted = 1;
      let gotAll = (): void => {};
      createInterface({ input: child.stdout }).on("line", (line) => {
        const message = JSON.parse(line) as Partial<Answer>;
        if (message.id !== undefined) answers.push(message as Answer);
        if (answers.length >= wanted) gotAll();
      });
      const got = async (count: number): Promise<void> => {
        wanted = count;
        const all = new Promise<void>((resolve) => {
          gotAll = resolve;
        });
        if (answers.length < count)
          await withDeadline(all, DEADLINE_MS, () => `${count} answers, there are ${answers.length}; ${log}`);
      };
      try {
        child.stdin.write('{"id":1,"method":"initialize","params":{"clientName":"odd"}}\n');
        await got(1);
        child.stdin.write('{"method":"initialized"}\n');
        // Stdio servers run as this user: only methods that change nothing but what is theirs.
        const lines = [...oddRequests(random, hostileRounds)]
          .filter((text) => !CHANGING_FILES.has(/"method":"([^"]+)"/.exec(text)![1]!))
          .map((text) =>
            random.next() < 0.2 ? withBytes(text, random.pick(NOT_UTF8), random) : Buffer.from(text),
          );
        child.stdin.write(Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")])));
        await got(1 + lines.length);
        for (const answer of answers) expectReason(answer, JSON.stringify(answer));
        child.stdin.end();
        const [code] = await withDeadline(once(child, "exit"), DEADLINE_MS, () => "the end of the server");
        expect(code).toBe(0);
      } finally {
        child.kill("SIGKILL");
      }
    }));

  it("are names of variables like any other", () =>
    withSeed(async () => {
      await using target = await AttackedServer.start();
      const session = await target.session();
      const names = [
        "__proto__",
        "constructor",
        "toString",
        "hasOwnProperty",
        "length",
        "then",
        "a b",
        "\u00e9",
        "%41",
      ];
      const env = Object.fromEntries([...names, "PATH"].map((name) => [name, "/usr/bin:/bin"]));
      Object.defineProperty(env, "__proto__", {
        value: "/usr/bin:/bin",
        enumerable: true,
        configurable: true,
        writable: true,
      });
      const start = { argv: ["env", "-0"], cwd: "file:///", tty: false };
      const policy = { inherit: "none", ignoreDefaultExcludes: true, exclude: [], includeOnly: [] };
      for (const [processId, more] of [
        ["direct", { env }],
        ["policy", { env: { PATH: "/usr/bin:/bin" }, envPolicy: { ...policy, set: env } }],
      ] as const) {
        await session.request("process/start", { processId, ...start, ...more });
        await session.request("process/wait", { processId, until: "closed" });
        const { chunks } = await session.request<ReadResult>("process/read", { processId });
        const output = chunks.map(({ chunk }) => Buffer.from(chunk, "base64").toString()).join("");
        const seen = output.split("\0").map((entry) => entry.slice(0, entry.indexOf("=")));
        expect(seen, processId).toEqual(expect.arrayContaining(names));
      }
      session.cut();
    }));
});
