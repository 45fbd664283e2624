import { connect, type Socket, type TcpNetConnectOpts } from "node:net";
import { createDeferred, type Deferred } from "../../base/deferred.ts";
import { CapabilityError, type ErrorCode } from "../../base/errors.ts";

/** Bytes that wait for a reader, before the machine's own buffers make the sender wait. */
export const READ_BUFFER_BYTES = 256 * 1024;
/** Time for one of several addresses. Node's default, 250 ms, is less than some round trips. */
const ATTEMPT_TIMEOUT_MS = 3_000;
/** Meaning of socket and name lookup errors. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  ECONNREFUSED: "CONNECTION_REFUSED",
  ENOTFOUND: "UNKNOWN_HOST",
  EAI_AGAIN: "UNKNOWN_HOST",
  ETIMEDOUT: "TIMED_OUT",
};

/** Where a connection leads. */
export interface TcpTarget {
  readonly host: string;
  readonly port: number;
}

/** A connection over TCP or a Unix socket that is read on demand. */
export class TcpConnection {
  readonly #socket: Socket;
  readonly #where: string;
  #wake: Deferred<void> | undefined;
  #ended = false;
  #failure: CapabilityError | undefined;

  /** `where` names the other side in errors. */
  constructor(socket: Socket, where: string) {
    this.#socket = socket;
    this.#where = where;
    socket.on("readable", () => {
      // Without a byte it is the end, which is reported only to those who read.
      if (socket.readableLength === 0) socket.read(0);
      else this.#woken();
    });
    socket.on("end", () => {
      this.#ended = true;
      this.#woken();
    });
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("it was closed")));
    if (socket.destroyed) this.#fail(new Error("it was closed"));
  }

  /** Rejects with a CapabilityError. Aborting cancels. */
  static async open(
    { host, port }: TcpTarget,
    limits: { timeoutMs: number; signal: AbortSignal },
  ): Promise<TcpConnection> {
    const where = `${host}:${port}`;
    try {
      const socket = await connectSocket({ host, port, highWaterMark: READ_BUFFER_BYTES }, limits);
      return new TcpConnection(socket, where);
    } catch (error) {
      throw socketFailure(error as Error, `cannot connect to ${where}`);
    }
  }

  /** Address and port of the other side; empty and 0 for a Unix socket. */
  get remote(): { readonly address: string; readonly port: number } {
    return { address: this.#socket.remoteAddress ?? "", port: this.#socket.remotePort ?? 0 };
  }

  /** Bytes that the machine has not taken yet. */
  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  /** Resolves when `take` has something to return. Rejects with a CapabilityError if the connection failed. */
  async whenReadable(): Promise<void> {
    while (this.#socket.readableLength === 0 && !this.#ended) {
      if (this.#failure !== undefined) throw this.#failure;
      this.#wake ??= createDeferred();
      await this.#wake.promise;
    }
  }

  /** What has arrived. The end is reported once everything before it was taken. */
  take(maxBytes: number): { readonly bytes: Uint8Array; readonly ended: boolean } {
    const length = Math.min(maxBytes, this.#socket.readableLength);
    const bytes: unknown = length === 0 ? null : this.#socket.read(length);
    if (this.#socket.readableLength === 0) this.#socket.read(0);
    if (bytes instanceof Buffer) return { bytes, ended: false };
    return { bytes: new Uint8Array(0), ended: this.#ended };
  }

  /** Resolves when the machine has taken the bytes. Rejects with a CapabilityError. */
  write(bytes: Uint8Array, { end }: { end: boolean }): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (error?: Error | null): void => {
        if (error) reject(this.#failure ?? this.#failed(error));
        else resolve();
      };
      if (!this.#socket.writable) done(new Error("it accepts no more data"));
      else if (end) this.#socket.end(bytes, done);
      else this.#socket.write(bytes, done);
    });
  }

  /** Ends at once. Unless both sides have ended, the other one sees that it was cut off. */
  destroy(): void {
    cutOff(this.#socket);
  }

  #failed(error: Error): CapabilityError {
    return socketFailure(error, `the connection to ${this.#where} failed`);
  }

  #fail(error: Error): void {
    this.#failure ??= this.#failed(error);
    this.#woken();
  }

  #woken(): void {
    this.#wake?.resolve();
    this.#wake = undefined;
  }
}

/** The types lack `highWaterMark`, which every stream has. */
type Target = TcpTarget & Pick<TcpNetConnectOpts, "lookup"> & { readonly highWaterMark?: number };

/** Both directions end on their own. Rejects with the system's error, or if it takes too long or is aborted. */
export function connectSocket(
  target: Target,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<Socket> {
  const socket = connect({
    ...target,
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT_MS,
  });
  return whenConnected(socket, limits);
}

/** Resolves with a socket once it is connected. Rejects like `connectSocket`, and destroys it. */
export function whenConnected(
  socket: Socket,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      socket.off("error", fail);
    };
    const fail = (error: Error): void => {
      settle();
      socket.destroy();
      reject(error);
    };
    const abort = (): void => fail(new Error("the client has left"));
    const late = Object.assign(new Error("timed out"), { code: "ETIMEDOUT" });
    const timer = setTimeout(() => fail(late), timeoutMs);
    signal.addEventListener("abort", abort);
    // Its holder learns of its end through other events, but an error without a listener would end the program.
    socket.on("error", () => {});
    socket.once("error", fail);
    socket.once("connect", () => {
      settle();
      resolve(socket);
    });
  });
}

/** Ends a socket at once. Over TCP, the other side sees that it was cut off. */
export function cutOff(socket: Socket): void {
  // Node resets nothing but TCP.
  if (socket.remoteFamily === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

/** The meaning of a socket's error. */
export function socketFailure(error: Error & { code?: unknown }, what: string): CapabilityError {
  const errno = typeof error.code === "string" && /^E[A-Z0-9_]+$/.test(error.code) ? error.code : undefined;
  const code = (errno === undefined ? undefined : CODES[errno]) ?? "OS_ERROR";
  const why = error.message.replace(/^(?:connect|listen) /, "");
  return new CapabilityError(code, `${what}: ${why}`, { cause: error, errno });
}
