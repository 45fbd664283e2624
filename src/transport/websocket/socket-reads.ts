import { connect, type NetConnectOpts, type Socket } from "node:net";

/** The size that Node reads at a time. */
const READ_BYTES = 64 * 1024;

/** Takes bytes from the start of a chunk and returns their end. The chunk's memory is used again afterwards. */
export type TakeBytes = (chunk: Buffer) => number;

/**
 * Opens a connection whose reads use the same memory. Node would allocate new memory for each read, so that a large
 * download consists mostly of page faults and garbage collection. The receiver keeps the bytes, so they are copied:
 * once, to their destination if `take` has one for them, otherwise for the stream.
 */
export class SocketReads {
  #take: TakeBytes | undefined;

  connect(options: NetConnectOpts): Socket {
    const socket: Socket = connect({
      ...options,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (length, buffer) => this.#read(socket, (buffer as Buffer).subarray(0, length)),
      },
    });
    return socket;
  }

  /** Is offered bytes before the stream is. */
  offer(take: TakeBytes): void {
    this.#take = take;
  }

  /** False if the socket should not be read for now. */
  #read(socket: Socket, chunk: Buffer): boolean {
    // The stream's pending data must come first.
    const isNext = socket.readableFlowing === true && socket.readableLength === 0;
    const taken = isNext ? (this.#take?.(chunk) ?? 0) : 0;
    return taken === chunk.length || socket.push(Buffer.from(chunk.subarray(taken)));
  }
}
