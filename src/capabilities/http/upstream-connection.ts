import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Carrier, Exchange } from "./exchange.ts";
import { ResponseReader } from "./response-reader.ts";
import type { WrittenRequest } from "./written-request.ts";

/** Where a connection leads. */
export interface Endpoint {
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
}

/** Told that a connection waits for another request, and how long its server has promised to wait. */
export type Idle = (promisedMs: number | undefined) => void;

/** Large trips cost less than many: this is read at once, if it is there. */
const READ_BYTES = 64 * 1024;
/** Each connection is done with what was read before the next one reads. */
let readBuffer: Buffer | undefined;

/** The place that a URL of http or https names. */
export function endpointOf({ protocol, hostname, port }: URL): Endpoint {
  const secure = protocol === "https:";
  return {
    secure,
    host: hostname.startsWith("[") ? hostname.slice(1, -1) : hostname,
    port: port === "" ? (secure ? 443 : 80) : Number(port),
  };
}

/** Opens a connection. `ended` is called once, when it is of no more use. */
export function openConnection(endpoint: Endpoint, ended: () => void): UpstreamConnection {
  return new UpstreamConnection((receive) => openSocket(endpoint, receive), ended);
}

/** The same through a tunnel that leads to the endpoint. */
export function openConnectionThrough(
  tunnel: Socket,
  endpoint: Endpoint,
  ended: () => void,
): UpstreamConnection {
  return new UpstreamConnection(
    (receive) => connectTls({ socket: tunnel, ...tlsOptions(endpoint) }).on("data", receive),
    ended,
  );
}

/** A connection to an upstream server. It carries one exchange at a time. */
export class UpstreamConnection implements Carrier {
  readonly #socket: Socket;
  readonly #ended: () => void;
  #exchange: Exchange | undefined;
  #reader: ResponseReader | undefined;
  #idle: Idle = () => {};
  #mayIdle = true;
  #paused = false;
  #closed = false;

  constructor(open: (receive: (bytes: Buffer) => void) => Socket, ended: () => void) {
    this.#ended = ended;
    this.#socket = open((bytes) => this.#receive(bytes));
    this.#socket.setNoDelay(true);
    this.#socket.setKeepAlive(true);
    this.#socket.on("end", () => this.#finish());
    this.#socket.on("error", (error) => this.#fail(error));
    this.#socket.on("close", () => this.#fail(new Error("the connection was closed")));
  }

  /** Carries an exchange. `idle` is called when the connection is ready for another, which it may not be. */
  carry(exchange: Exchange, request: WrittenRequest, idle: Idle): void {
    this.#exchange = exchange;
    this.#reader = new ResponseReader(request.method, exchange);
    this.#idle = idle;
    this.#mayIdle = request.keepsAlive;
    exchange.carriedBy(this);
    this.#socket.ref();
    if (request.body === undefined) {
      this.#socket.write(request.head, "latin1");
      return;
    }
    this.#socket.cork();
    this.#socket.write(request.head, "latin1");
    this.#socket.write(request.body);
    this.#socket.uncork();
  }

  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#socket.resume();
  }

  destroy(): void {
    this.#fail(new Error("the connection is not wanted any more"));
  }

  #receive(bytes: Buffer): void {
    const exchange = this.#exchange;
    const reader = this.#reader;
    if (exchange === undefined || reader === undefined) {
      // Nobody has asked for anything.
      this.destroy();
      return;
    }
    exchange.touch();
    try {
      reader.read(bytes);
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    // Whoever takes the body may have given it up meanwhile.
    if (this.#closed) return;
    if (reader.ended) this.#exchangeOver();
    else exchange.readDone();
  }

  #exchangeOver(): void {
    const reader = this.#reader;
    const reusable = reader?.reusable === true && this.#mayIdle && this.#socket.writableLength === 0;
    this.#exchange = undefined;
    this.#reader = undefined;
    if (!reusable) {
      this.destroy();
      return;
    }
    // A sink may have paused the connection with the last bytes.
    this.resume();
    // What waits for nobody keeps no program alive.
    this.#socket.unref();
    this.#idle(reader.promisedMs);
  }

  #finish(): void {
    try {
      this.#reader?.finish();
      this.#exchangeOver();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #fail(failure: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#reader = undefined;
    this.#socket.destroy();
    this.#ended();
    exchange?.fail(failure);
  }
}

function openSocket(endpoint: Endpoint, receive: (bytes: Buffer) => void): Socket {
  const { host, port, secure } = endpoint;
  if (secure) return connectTls({ host, port, ...tlsOptions(endpoint) }).on("data", receive);
  readBuffer ??= Buffer.allocUnsafeSlow(READ_BYTES);
  const callback = (length: number, bytes: Uint8Array): boolean => {
    receive((bytes as Buffer).subarray(0, length));
    return true;
  };
  return connectTcp({ host, port, onread: { buffer: readBuffer, callback } });
}

/** Options of TLS that lead to an endpoint. */
export function tlsOptions({ host }: Endpoint): { ALPNProtocols: string[]; servername?: string } {
  const alpn = { ALPNProtocols: ["http/1.1"] };
  // An address is no name.
  return isIP(host) === 0 ? { ...alpn, servername: host } : alpn;
}
