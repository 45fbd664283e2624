import { pollUntil, withDeadline } from "../fault/deadline.ts";
import { frame, RawSocket } from "../fault/raw-websocket.ts";
import type { SeededRandom } from "../fault/seeded-random.ts";
import type { ServerUnderTest } from "../fault/server-under-test.ts";

const MIB = 1024 * 1024;
const MAX_FRAME_BYTES = 16 * MIB;
const DEADLINE_MS = 60_000;

export interface Answer {
  readonly id: number | string;
  // Whatever the server says; the tests look at the members they know.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The frames of one message, cut as clients may cut it. */
export function framesOf(payload: Buffer, random: SeededRandom): Buffer[] {
  const opcode = random.pick([1, 1, 2]);
  const pieces = payload.length > MAX_FRAME_BYTES ? random.between(5, 9) : random.pick([1, 1, 1, 2, 5]);
  const size = Math.max(1, Math.ceil(payload.length / pieces));
  const cuts = Math.max(1, Math.ceil(payload.length / size));
  return Array.from({ length: cuts }, (_, index) =>
    frame(payload.subarray(index * size, (index + 1) * size), {
      opcode: index === 0 ? opcode : 0,
      fin: index === cuts - 1,
    }),
  );
}

/** A client without manners: it has a session, and says what it likes in whatever frames. */
export class HostileConnection {
  readonly raw: RawSocket;

  static async open({ port }: ServerUnderTest): Promise<HostileConnection> {
    const raw = await RawSocket.upgrade(port);
    raw.write(frame('{"id":1,"method":"initialize","params":{"clientName":"hostile"}}'));
    await raw.message();
    raw.write(frame('{"method":"initialized"}'));
    return new HostileConnection(raw);
  }

  constructor(raw: RawSocket) {
    this.raw = raw;
  }

  /** The next answer, to whatever; undefined when the connection ends instead. */
  async answer(what: string): Promise<Answer | undefined> {
    for (;;) {
      const text = await withDeadline(this.raw.message(), DEADLINE_MS, () => `an answer to ${what}`);
      if (text === "") return undefined;
      const message = JSON.parse(text) as Partial<Answer>;
      if (message.id !== undefined) return message as Answer;
    }
  }

  /** Resolves when the system has accepted all bytes, or the connection is over. */
  async flushed(): Promise<void> {
    await pollUntil(
      () => this.raw.isOver || this.raw.socket.writableLength === 0,
      DEADLINE_MS,
      () => "the bytes to leave",
    );
  }
}
