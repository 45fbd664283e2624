import { once } from "node:events";
import net, { type AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { SeededRandom } from "../fault/seeded-random.ts";
import { logUniform } from "./hostile-run.ts";

const MIB = 1024 * 1024;
/** An endless answer ends here, so that a server that reads all of it does not stop the test. */
const ENDLESS_BYTES = 600 * MIB;
const BLOCK_BYTES = 64 * 1024;

/** The steps of a hostile server on a connection. */
type Step =
  | { readonly kind: "bytes"; readonly bytes: Buffer; readonly times: number }
  | { readonly kind: "trickle"; readonly bytes: Buffer; readonly pauseMs: number }
  | { readonly kind: "end" | "reset" | "hang" };

export interface Script {
  readonly name: string;
  readonly steps: readonly Step[];
}

/**
 * An HTTP server that breaks the rules: `/clean/TEXT` is answered with TEXT, every other path with the script of the
 * moment.
 */
export class RawUpstream implements AsyncDisposable {
  #script: Script = { name: "nothing", steps: [] };
  /** Connections on which a script still has something to say. */
  readonly #busy = new Set<net.Socket>();
  /** Connections that will never hear anything more. */
  #silent = new Set<net.Socket>();
  readonly #sockets = new Set<net.Socket>();
  readonly #server = net.createServer((socket) => this.#serve(socket));

  static async listen(): Promise<RawUpstream> {
    const upstream = new RawUpstream();
    upstream.#server.listen(0, "127.0.0.1");
    await once(upstream.#server, "listening");
    return upstream;
  }

  /** Requests that scripts were played for. */
  played = 0;

  get silent(): number {
    return this.#silent.size;
  }

  get busy(): number {
    return this.#busy.size;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A new script starts; connections that are silent by now no longer count. */
  play(script: Script): void {
    this.#script = script;
    this.#silent = new Set();
  }

  #serve(socket: net.Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#busy.delete(socket);
      this.#silent.delete(socket);
    });
    socket.on("error", () => {}); // the client has left
    let unread = "";
    let isPlaying = false;
    // A client that takes an answer as complete may send another request on the same connection.
    const answerAll = (): void => {
      for (let end = unread.indexOf("\r\n\r\n"); end !== -1 && !isPlaying; end = unread.indexOf("\r\n\r\n")) {
        const path = unread.slice(0, end).split(" ")[1] ?? "";
        unread = unread.slice(end + 4);
        const clean = /^\/clean\/(\w+)$/.exec(path)?.[1];
        if (clean === undefined) {
          isPlaying = true;
          void this.#play(socket, this.#script).then(() => {
            isPlaying = false;
            answerAll();
          });
        } else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${clean.length}\r\n\r\n${clean}`);
      }
    };
    socket.on("data", (bytes: Buffer) => {
      unread += bytes.toString("latin1");
      answerAll();
    });
  }

  async #play(socket: net.Socket, { steps }: Script): Promise<void> {
    this.#busy.add(socket);
    this.played += 1;
    const gone = new AbortController();
    socket.once("close", () => gone.abort());
    const send = async (bytes: Buffer): Promise<void> => {
      if (socket.write(bytes)) return;
      await once(socket, "drain", { signal: gone.signal }).catch(() => {}); // nobody reads any more
    };
    for (const step of steps) {
      if (gone.signal.aborted) return;
      if (step.kind === "bytes") {
        const perBlock = Math.max(1, Math.ceil(BLOCK_BYTES / step.bytes.length));
        const block = Buffer.concat(Array.from({ length: Math.min(perBlock, step.times) }, () => step.bytes));
        for (let left = step.times; left > 0 && !gone.signal.aborted; left -= perBlock)
          await send(left >= perBlock ? block : block.subarray(0, left * step.bytes.length));
      } else if (step.kind === "trickle") {
        for (const byte of step.bytes) {
          if (gone.signal.aborted) return;
          await send(Buffer.of(byte));
          await delay(step.pauseMs);
        }
      } else if (step.kind === "end") socket.end();
      else if (step.kind === "reset") socket.resetAndDestroy();
      else this.#silent.add(socket);
    }
    this.#busy.delete(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

const bytes = (text: string, times = 1): Step => ({
  kind: "bytes",
  bytes: Buffer.from(text, "latin1"),
  times,
});

/** Data that follows an answer and is not part of it. */
const POISON = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON";

/** A server's answer that is wrong, endless or late in a random way. */
export function randomScript(random: SeededRandom, origin: string): Script {
  const parts: [string, Step[]][] = [];
  const add = (name: string, ...steps: Step[]): void => void parts.push([name, steps]);
  prelude(random, add);
  statusLine(random, add, origin);
  headers(random, add);
  body(random, add);
  const whole: Script = {
    name: parts.map(([name]) => name).join(", "),
    steps: parts.flatMap(([, steps]) => steps),
  };
  return spoil(random, whole);
}

type Add = (name: string, ...steps: Step[]) => void;

function prelude(random: SeededRandom, add: Add): void {
  if (random.next() < 0.8) return;
  const head = random.pick([
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 102 Processing\r\nX-A: b\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n",
    "\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
  ]);
  const times = random.next() < 0.5 ? logUniform(random, 1, 400_000) : Math.ceil(ENDLESS_BYTES / head.length);
  add(`${times} times ${JSON.stringify(head)}`, bytes(head, times));
}

function statusLine(random: SeededRandom, add: Add, origin: string): void {
  const line = random.pick([
    "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 200", "HTTP/9.9 200 OK", "ICY 200 OK", "HTTP/1.1 099 x", "HTTP/1.1 1000 x", "HTTP/1.1 204 x", "HTTP/1.1 304 x",
    "HTTP/1.1 401 x", "", "\0", `HTTP/1.1 302 x\r\nLocation: ${origin}/again`, `HTTP/1.1 302 x\r\nLocation: ${origin}/clean/redirected`, `HTTP/1.1 307 x\r\nLocation: /clean/redirected`, "HTTP/1.1 302 x\r\nLocation: \xff",
  ]); // biome-ignore format: a list of short texts
  add(JSON.stringify(line), bytes(`${line}\r\n`));
}

function headers(random: SeededRandom, add: Add): void {
  for (let left = random.pick([0, 0, 1, 1, 2]); left > 0; left--) {
    const unit = random.pick([
      " ",
      "\t",
      "\0",
      "a",
      "\r",
      "x: y\r\n",
      "x:\r\n",
      "\r\n ",
      ":",
      "\xff",
      "set-cookie: a=b\r\n",
      ",",
      "Content-Length: 5\r\n",
    ]);
    const times =
      random.next() < 0.8 ? logUniform(random, 1, 200_000) : Math.ceil(ENDLESS_BYTES / unit.length);
    add(
      `a header of ${times} times ${JSON.stringify(unit)}`,
      bytes("X-Header: "),
      bytes(unit, times),
      bytes(`${random.pick(["", "\0", "y"])}\r\n`),
    );
  }
}

function body(random: SeededRandom, add: Add): void {
  const isEndless = random.next() < 0.4;
  const unit = random.pick(["x", "yy", "abcdefgh".repeat(100)]);
  const times = isEndless ? Math.ceil(ENDLESS_BYTES / unit.length) : logUniform(random, 1, 200_000);
  const length = unit.length * times;
  const kind = random.between(0, 6);
  const chunk = `${unit.length.toString(16)}${random.pick(["", "", ";a=b", `;${"e".repeat(100)}`])}\r\n${unit}\r\n`;
  const chunkTimes = isEndless ? Math.ceil(ENDLESS_BYTES / chunk.length) : times;
  const claimed = random.pick([
    length,
    length,
    length - 1,
    0,
    length + 1,
    -1,
    "99999999999999999999",
    "0x10",
    "5, 5",
    "5, 6",
    "",
  ]);
  if (kind <= 1)
    add(
      `a length of ${claimed} and ${length} bytes`,
      bytes(`Content-Length: ${claimed}\r\n\r\n`),
      bytes(unit, times),
    );
  else if (kind === 2) add(`${length} bytes and no length`, bytes("\r\n"), bytes(unit, times));
  else {
    const both = kind === 3 ? `Content-Length: ${random.pick([0, 5, length])}\r\n` : "";
    const coding = random.pick([
      "chunked",
      "chunked",
      "chunked",
      " Chunked ",
      "gzip, chunked",
      "chunked, chunked",
      "identity",
      "x",
    ]);
    const end = random.pick([
      "0\r\n\r\n",
      "0\r\n\r\n",
      `0\r\n${"t: r\r\n".repeat(logUniform(random, 1, 10_000))}\r\n`,
      "FFFFFFFFFFFFFFFFF\r\n",
      "-1\r\n",
      "g\r\n",
      "",
    ]);
    add(
      `${both === "" ? "" : "both lengths, "}${coding}: ${chunkTimes} chunks of ${unit.length} bytes, then ${JSON.stringify(end.slice(0, 20))}`,
      bytes(`${both}Transfer-Encoding: ${coding}\r\n\r\n`),
      bytes(chunk, chunkTimes),
      bytes(end),
    );
  }
  if (random.next() < 0.5) add("one answer more", bytes(POISON));
}

/** Cuts it, slows it, or leaves it as it is. */
function spoil(random: SeededRandom, { name, steps }: Script): Script {
  const at = random.between(0, steps.length);
  switch (random.between(0, 5)) {
    case 0:
      return {
        name: `${name}; cut at ${at}`,
        steps: [...steps.slice(0, at), { kind: random.pick(["end", "reset", "hang"]) }],
      };
    case 1: {
      const slow = steps
        .slice(at, at + 1)
        .map(
          (step): Step =>
            step.kind === "bytes"
              ? { kind: "trickle", bytes: step.bytes.subarray(0, 100), pauseMs: random.between(1, 20) }
              : step,
        );
      return {
        name: `${name}; step ${at} trickles, then silence`,
        steps: [...steps.slice(0, at), ...slow, { kind: "hang" }],
      };
    }
    case 2:
      return { name: `${name}; then the end`, steps: [...steps, { kind: "end" }] };
    default:
      return { name, steps };
  }
}
