import { randomBytes } from "node:crypto";
import net from "node:net";
import { withDeadline } from "./deadline.ts";

const DEADLINE_MS = 60_000;

export interface FrameOptions {
  opcode?: number;
  fin?: boolean;
  reservedBits?: number;
  masked?: boolean;
  /** The length the header claims, where it is not the truth. */
  claimedLength?: bigint;
}

/** One frame of a client, right or wrong in whatever way is asked for. */
export function frame(payload: Buffer | string, options: FrameOptions = {}): Buffer {
  const { opcode = 1, fin = true, reservedBits = 0, masked = true } = options;
  const body = typeof payload === "string" ? Buffer.from(payload) : payload;
  const length = options.claimedLength ?? BigInt(body.length);
  const extra = length < 126n ? 0 : length < 65_536n ? 2 : 8;
  const header = Buffer.alloc(2 + extra + (masked ? 4 : 0));
  header[0] = (fin ? 0x80 : 0) | (reservedBits << 4) | opcode;
  header[1] = (masked ? 0x80 : 0) | (extra === 0 ? Number(length) : extra === 2 ? 126 : 127);
  if (extra === 2) header.writeUInt16BE(Number(length), 2);
  if (extra === 8) header.writeBigUInt64BE(length, 2);
  // A mask of zeros changes nothing, so the body can go out as it is.
  return Buffer.concat([header, body]);
}

export const upgradeRequest = (headers: readonly string[] = []): string =>
  [
    "GET / HTTP/1.1",
    "Host: 127.0.0.1",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Key: ${randomBytes(16).toString("base64")}`,
    "Sec-WebSocket-Version: 13",
    ...headers,
    "\r\n",
  ].join("\r\n");

/** A TCP connection on which anything can be said, and which reads frames once it has been upgraded. */
export class RawSocket {
  readonly socket: net.Socket;
  readonly ended: Promise<void>;
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  /** Of a message that has not ended. */
  #fragments: Buffer[] = [];
  /** Bytes without which looking again is pointless. */
  #neededBytes = 1;
  #ended = false;
  #wake = () => {};

  static async open(port: number): Promise<RawSocket> {
    const socket = net.connect({ host: "127.0.0.1", port, noDelay: true });
    const raw = new RawSocket(socket);
    await withDeadline(
      new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject)),
      DEADLINE_MS,
      () => "a TCP connection",
    );
    return raw;
  }

  static async upgrade(port: number): Promise<RawSocket> {
    const raw = await RawSocket.open(port);
    raw.write(upgradeRequest());
    const head = await raw.httpHead();
    if (!head.startsWith("HTTP/1.1 101")) throw new Error(`upgrade refused: ${head}`);
    return raw;
  }

  constructor(socket: net.Socket) {
    this.socket = socket;
    this.ended = new Promise((resolve) => {
      socket.once("close", () => {
        this.#ended = true;
        this.#wake();
        resolve();
      });
    });
    socket.on("error", () => {}); // `close` follows and is what the tests look at
    socket.on("data", (bytes: Buffer) => {
      this.#pieces.push(bytes);
      this.#pieceBytes += bytes.length;
      if (this.#pieceBytes >= this.#neededBytes) this.#wake();
    });
  }

  #unread(): Buffer {
    if (this.#pieces.length > 1) this.#keep(Buffer.concat(this.#pieces));
    return this.#pieces[0] ?? Buffer.alloc(0);
  }

  #keep(unread: Buffer): void {
    this.#pieces = [unread];
    this.#pieceBytes = unread.length;
    this.#neededBytes = 1;
  }

  get isOver(): boolean {
    return this.#ended;
  }

  write(bytes: Buffer | string): void {
    if (!this.#ended) this.socket.write(bytes);
  }

  /** The status line and headers of the next HTTP answer; empty when the connection ends instead. */
  httpHead(): Promise<string> {
    return this.#next("an HTTP answer", () => {
      const bytes = this.#unread();
      const end = bytes.indexOf("\r\n\r\n");
      if (end === -1) return undefined;
      this.#keep(bytes.subarray(end + 4));
      return bytes.toString("latin1", 0, end);
    });
  }

  /** The next text message; empty when the connection ends instead. Pings and pongs are passed over. */
  message(): Promise<string> {
    return this.#next("a message", () => {
      for (;;) {
        const taken = this.#takeFrame();
        if (taken === undefined) return undefined;
        if (taken.opcode <= 1) {
          this.#fragments.push(taken.payload);
          if (taken.fin) return Buffer.concat(this.#fragments.splice(0)).toString();
        }
        if (taken.opcode === 8) this.socket.destroy();
      }
    });
  }

  #takeFrame(): { opcode: number; fin: boolean; payload: Buffer } | undefined {
    const bytes = this.#unread();
    if (bytes.length < 2) return undefined;
    const short = (bytes[1] ?? 0) & 0x7f;
    const at = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (bytes.length < at) return undefined;
    const length = at === 2 ? short : at === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
    if (bytes.length < at + length) {
      this.#neededBytes = at + length;
      return undefined;
    }
    this.#keep(bytes.subarray(at + length));
    const first = bytes[0] ?? 0;
    return { opcode: first & 0x0f, fin: first >= 0x80, payload: bytes.subarray(at, at + length) };
  }

  #next(what: string, take: () => string | undefined): Promise<string> {
    const taken = new Promise<string>((resolve) => {
      this.#wake = () => {
        const found = take();
        if (found !== undefined) resolve(found);
        else if (this.#ended) resolve("");
      };
      this.#wake();
    });
    return withDeadline(taken, DEADLINE_MS, () => what);
  }

  /** Resolves when the server has ended the connection; whatever it says before is not looked at. */
  endedByServer(): Promise<void> {
    return withDeadline(this.ended, DEADLINE_MS, () => "the end of the connection");
  }

  cut(): void {
    this.socket.destroy();
  }
}
