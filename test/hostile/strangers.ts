import net from "node:net";
import { pollUntil } from "../fault/deadline.ts";
import { upgradeRequest } from "../fault/raw-websocket.ts";
import type { SeededRandom } from "../fault/seeded-random.ts";
import { logUniform } from "./hostile-run.ts";

const TRICKLE_MS = 40;
const CONNECT_DEADLINE_MS = 60_000;

/** How far a stranger goes before it does what it came for. */
type Opening = (random: SeededRandom) => Buffer;

const text = (value: string): Buffer => Buffer.from(value, "latin1");
const cutAnywhere = (random: SeededRandom, whole: Buffer): Buffer =>
  whole.subarray(0, random.between(0, whole.length - 1));
const refusedUpgrade = (random: SeededRandom): Buffer =>
  text(
    random.pick([
      upgradeRequest(["Origin: http://evil.example"]),
      upgradeRequest().replace("GET / ", "GET /nowhere "),
      upgradeRequest().replace("GET / ", "POST / "),
      upgradeRequest().replace("Version: 13", "Version: 12"),
      upgradeRequest().replace(/Key: .*/, "Key: short"),
      upgradeRequest().replace("websocket", "h2c"),
    ]),
  );
const request = (random: SeededRandom): Buffer =>
  text(
    `${random.pick(["GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE"])} ${random.pick(["/", "/readyz", "/healthz", "*", "/%ff"])} HTTP/1.1\r\nHost: localhost\r\n${random.pick(["", "Connection: keep-alive\r\n", "Content-Length: 1000000\r\n", "Transfer-Encoding: chunked\r\n", "Expect: 100-continue\r\nContent-Length: 10\r\n", "Upgrade: websocket\r\n", "Connection: upgrade\r\n"])}\r\n`,
  );

/** None of these becomes a WebSocket. */
const STRANGE: readonly Opening[] = [
  () => Buffer.alloc(0),
  (random) => random.bytes(logUniform(random, 1, 300)),
  (random) => cutAnywhere(random, text(upgradeRequest())),
  (random) => cutAnywhere(random, refusedUpgrade(random)),
  refusedUpgrade,
  refusedUpgrade,
  refusedUpgrade,
  (random) => Buffer.concat([refusedUpgrade(random), random.bytes(logUniform(random, 1, 100_000))]),
  request,
  (random) => Buffer.concat(Array.from({ length: random.between(2, 20) }, () => request(random))),
  (random) => text(`GET / HTTP/1.1\r\nX: ${"a".repeat(logUniform(random, 1, 200_000))}`),
];

const UPGRADES: readonly Opening[] = [
  // With a token these are refused; without one they are WebSockets that never say who they are.
  () => text(upgradeRequest()),
  (random) =>
    text(
      upgradeRequest([
        `Authorization: ${random.pick(["Bearer wrong", "Basic eA==", "Bearer a.b.c", "Bearer", ""])}`,
      ]),
    ),
  (random) => Buffer.concat([text(upgradeRequest()), random.bytes(random.between(1, 20))]),
  (random) =>
    Buffer.concat([
      text(upgradeRequest()),
      Buffer.from([0x81, 0xfe, 0x10, 0x00, 0, 0, 0, 0]),
      random.bytes(10),
    ]),
];

/** A connection that never becomes a client's, and does not close on its own unless asked to. */
class Stranger implements Disposable {
  readonly name: string;
  readonly #socket: net.Socket;
  #timer: NodeJS.Timeout | undefined;

  constructor(port: number, random: SeededRandom, openings: "any" | "no upgrade" = "any") {
    const socket = net.connect({ host: "127.0.0.1", port, allowHalfOpen: true, noDelay: true });
    this.#socket = socket;
    socket.on("error", () => {}); // cut by the server, which is what is asked of it
    const opening = random.pick(openings === "any" ? [...STRANGE, ...UPGRADES] : STRANGE)(random);
    const manner = random.pick([
      "silent",
      "deaf",
      "trickle",
      "one byte later",
      "half-closed",
      "gone",
      "reset",
    ] as const);
    this.name = `${JSON.stringify(opening.toString("latin1", 0, 80))}, then ${manner}`;
    if (manner !== "deaf") socket.resume();
    const trickle = random.pick([
      Buffer.from("x"),
      Buffer.from("X: y\r\n"),
      Buffer.from([0]),
      Buffer.from("\r\n"),
      Buffer.from([0x89, 0x80, 0, 0, 0, 0]),
    ]);
    socket.once("connect", () => {
      socket.write(opening);
      const later = (act: () => void): void => void (this.#timer = setTimeout(act, random.between(0, 300)));
      if (manner === "trickle") this.#timer = setInterval(() => socket.write(trickle), TRICKLE_MS);
      else if (manner === "one byte later") later(() => socket.write("x"));
      else if (manner === "half-closed") later(() => socket.end());
      else if (manner === "gone") later(() => socket.destroy());
      else if (manner === "reset") later(() => socket.resetAndDestroy());
    });
    socket.once("close", () => clearInterval(this.#timer));
  }

  get isConnecting(): boolean {
    return this.#socket.connecting;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#socket.destroy();
  }
}

/** Strangers who are there at the same time. */
export class Crowd implements Disposable {
  readonly #strangers: Stranger[] = [];

  /** Resolves when the system has accepted that many more connections. */
  async join(count: number, ...stranger: ConstructorParameters<typeof Stranger>): Promise<void> {
    this.#strangers.push(...Array.from({ length: count }, () => new Stranger(...stranger)));
    await pollUntil(
      () => this.#strangers.every(({ isConnecting }) => !isConnecting),
      CONNECT_DEADLINE_MS,
      () => "the strangers to connect",
    );
  }

  /** All of them, or some. */
  get names(): string {
    return this.#strangers
      .slice(0, 20)
      .map(({ name }) => name)
      .join("\n");
  }

  [Symbol.dispose](): void {
    for (const stranger of this.#strangers) stranger[Symbol.dispose]();
  }
}
