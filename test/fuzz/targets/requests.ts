import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { WebSocket } from "ws";
import { MalformedMessageError, parseMessage } from "../../../src/protocol/envelope.ts";
import { methods } from "../../../src/protocol/index.ts";
import { serve } from "../../../src/server/index.ts";
import { JsonLinesTransport } from "../../../src/transport/json-lines.ts";
import { createMemoryPair } from "../../../src/transport/memory.ts";
import { SeededRandom } from "../../fault/seeded-random.ts";
import { everyMethod } from "../../access/every-method.ts";
import {
  completeParams,
  type Hint,
  type Json,
  METHOD_NAMES,
  placesOf,
  sampleParams,
  textWith,
} from "../../hostile/wire-samples.ts";
import { attempt, expectEqual, expectTrue, scratchDirectory, type Target, Violation } from "../target.ts";

const NAMES = ["memory", "lines", "socket"] as const;
const MAX_MESSAGES = 4;
/** A new connection and an empty directory. */
const RENEW_EVERY = 200;
const DEADLINE_MS = 20_000;
/** Stands for the directory that the clients of a transport may use. */
const DIRECTORY = "/D";
/** Messages of faults in a program, which no client should see. */
const PROGRAM_FAULT =
  /is not (?:a function|iterable|defined)|Cannot (?:read|set) prop|ERR_[A-Z]|Maximum call stack/;

const base = scratchDirectory();
/** All of one length, so that errors are at the same place. */
const directoryOf = (name: (typeof NAMES)[number]): string => join(base, `d${NAMES.indexOf(name)}`);
for (const name of NAMES) mkdirSync(directoryOf(name));
const server = await serve({
  listen: `unix://${base}/listening`,
  local: { preset: "files", roots: NAMES.map(directoryOf) },
});

interface Answer {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A client that sends whatever it is given. */
interface Client {
  send(text: string): void;
  close(): void;
}

type Open = (received: (text: string) => void, closed: () => void) => Client | Promise<Client>;

const OPEN: Readonly<Record<(typeof NAMES)[number], Open>> = {
  memory: (received, closed) => {
    const [ours, theirs] = createMemoryPair();
    ours.open({ message: received, drain: () => {}, close: closed });
    server.accept(theirs, { resumable: false, from: "local" });
    return { send: (text) => ours.send(text), close: () => ours.destroy() };
  },
  lines: (received, closed) => {
    const [to, from] = [new PassThrough(), new PassThrough()];
    const ours = new JsonLinesTransport(from, to, "server");
    ours.open({ message: received, drain: () => {}, close: closed });
    server.accept(new JsonLinesTransport(to, from, "client"), { resumable: false, from: "local" });
    return { send: (text) => ours.send(text), close: () => ours.destroy() };
  },
  socket: (received, closed) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws+unix:${base}/listening:/`);
      socket.on("message", (data: Buffer) => received(data.toString()));
      socket.on("error", reject).on("close", closed);
      socket.on("open", () =>
        resolve({ send: (text) => socket.send(text), close: () => socket.terminate() }),
      );
    }),
};

/** A client of one transport, in a directory of its own. */
class Conversation {
  readonly #name: (typeof NAMES)[number];
  readonly #directory: string;
  #client: Client | undefined;
  #answers: Answer[] = [];
  #sentinel: { readonly id: string; readonly reached: () => void } | undefined;
  #sentinels = 0;
  isClosed = true;

  constructor(name: (typeof NAMES)[number]) {
    this.#name = name;
    this.#directory = directoryOf(name);
  }

  async renew(): Promise<void> {
    const before = this.#client;
    this.#client = undefined;
    before?.close();
    for (const name of readdirSync(this.#directory)) rmSync(join(this.#directory, name), { recursive: true });
    writeFileSync(join(this.#directory, "file"), "contents");
    symlinkSync("file", join(this.#directory, "link"));
    const client = await OPEN[this.#name](
      (text) => this.#receive(text),
      () => this.#client === client && this.#end(),
    );
    this.#client = client;
    this.isClosed = false;
    await this.ask([
      '{"id":0,"method":"initialize","params":{"clientName":"fuzz"}}',
      '{"method":"initialized","params":{}}',
    ]);
  }

  /** The answers to these messages: all that come before the one to a request that is sent after them. */
  async ask(messages: readonly string[]): Promise<Answer[]> {
    this.#answers = [];
    this.#sentinels += 1;
    const id = `sentinel ${this.#sentinels}`;
    const client = this.#client!;
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Violation(`no answer over ${this.#name}`)), DEADLINE_MS);
      this.#sentinel = { id, reached: () => (clearTimeout(late), resolve()) };
      for (const message of messages) client.send(message.replaceAll(DIRECTORY, this.#directory));
      client.send(JSON.stringify({ id, method: "environment/status", params: {} }));
    });
    return this.#answers;
  }

  /** What violates the protocol ends its connection. */
  #end(): void {
    this.isClosed = true;
    this.#sentinel?.reached();
  }

  #receive(text: string): void {
    const message = JSON.parse(text.replaceAll(this.#directory, DIRECTORY)) as Answer;
    if (message.id === this.#sentinel?.id) this.#sentinel!.reached();
    else if ("result" in message || "error" in message) this.#answers.push(message);
  }
}

const conversations = NAMES.map((name) => new Conversation(name));
let runs = 0;

const hint: Hint = (field, random): Json | undefined => {
  if (/path|from|to|cwd|missing|present/i.test(field) && field !== "options")
    return `file://${DIRECTORY}/${random.pick(["file", "link", "x", "x/y", ""])}`;
  if (/base64|chunk/i.test(field)) return "AAAA";
  if (field.endsWith("Id")) return random.pick(["a", "b"]);
  return undefined;
};

/** What does not belong there. */
const ODD = [
  "null",
  "true",
  "-1",
  "1.5",
  "1e999",
  "18446744073709551616",
  '""',
  '"x"',
  '"\\ud800"',
  '"a\\u0000b"',
  '"../../x"',
  "[]",
  "{}",
  '[null,5,"x"]',
  '{"__proto__":{"a":1}}',
  `${"[".repeat(60)}${"]".repeat(60)}`,
];

function seeds(): string[] {
  const random = new SeededRandom(1);
  const examples = everyMethod(`file://${DIRECTORY}`);
  return METHOD_NAMES.flatMap((method) => {
    const head = `{"id":1,"method":"${method}","params":`;
    const params = [
      examples[method][1] as Json,
      completeParams(method, random, hint),
      sampleParams(method, random, hint),
    ];
    const complete = params[1]!;
    const odd = Array.from({ length: 3 }, () =>
      textWith(complete, random.pick(placesOf(complete)), random.pick(ODD)),
    );
    return [...params.map((each) => JSON.stringify(each)), ...odd].map((each) => `${head}${each}}`);
  });
}

/** Requests are answered once, as the wire table has it, and in the same way over every transport. */
export const target: Target = {
  seeds: seeds(),
  words: [
    ...ODD,
    ...METHOD_NAMES.map((method) => `"${method}"`),
    "\n",
    `file://${DIRECTORY}/`,
    '"id":2',
    '"id":null',
    '"id":1.5',
    '"params":',
    "\\u0000",
    "%2e%2e",
    "/",
    '"',
    ",",
    ":",
  ],
  async run(input) {
    if (runs % RENEW_EVERY === 0 || conversations.some(({ isClosed }) => isClosed))
      for (const each of conversations) await each.renew();
    runs += 1;
    const messages = input
      .toString("utf8")
      .split("\n", MAX_MESSAGES)
      .filter((line) => line.trim() !== "" && !line.includes("sentinel"));
    const [first, ...others] = await Promise.all(conversations.map((each) => each.ask(messages)));
    expectTrue(
      new Set(conversations.map(({ isClosed }) => isClosed)).size === 1,
      "it ends over every transport, or over none",
    );
    if (conversations[0]!.isClosed) return;
    for (const other of others)
      expectEqual(kindsOf(other), kindsOf(first!), "the same answers over every transport");
    checkAnswers(messages, first!);
  },
};

/** Without the names of transports, and the parts of paths in what JSON.parse quotes. */
const kindsOf = (answers: readonly Answer[]): unknown[] =>
  answers.map(({ id, error }) => {
    const message = error?.message.replace(/^failed to parse .*?JSON-RPC[^:]*/, "");
    return [id, error?.code, message?.replace(/^.* is not valid JSON$/s, "not JSON")];
  });

function checkAnswers(messages: readonly string[], answers: readonly Answer[]): void {
  for (const { error } of answers)
    expectTrue(
      !PROGRAM_FAULT.test(error?.message ?? ""),
      `an error is not one of the server: ${error?.message}`,
    );
  const requests = messages.map(parsed).filter((request) => request !== undefined);
  const ids = requests.map(({ id }) => id);
  for (const { id, method } of requests) {
    if (!Number.isSafeInteger(id) || ids.filter((each) => each === id).length > 1) continue;
    const own = answers.filter((answer) => answer.id === id);
    expectEqual(own.length, 1, `one answer to request ${String(id)}`);
    const { result } = own[0]!;
    if (result === undefined || !Object.hasOwn(methods, method)) continue;
    const fault = methods[method as keyof typeof methods].result.safeParse(result).error;
    expectTrue(fault === undefined, `the answer to ${method} is in the table: ${fault?.message}`);
  }
}

/** What the message asks for, if it is a request. */
function parsed(text: string): { readonly id: unknown; readonly method: string } | undefined {
  const read = attempt(() => parseMessage(text), MalformedMessageError);
  if (!("value" in read) || read.value.kind !== "request") return undefined;
  return { id: JSON.parse(read.value.id) as unknown, method: read.value.method };
}
