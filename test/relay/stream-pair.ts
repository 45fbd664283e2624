import { Initiator, Request } from "../../src/noise/handshake.ts";
import { loadKem } from "../../src/noise/kem.ts";
import { KeyPair } from "../../src/noise/keys.ts";
import type { Carrier, FrameSource } from "../../src/relay/carrier.ts";
import { readFrame, type RelayFrame } from "../../src/relay/frame.ts";
import { RelayStream } from "../../src/relay/relay-stream.ts";

const kem = await loadKem();
const [clientKey, executorKey] = [new KeyPair(kem), new KeyPair(kem)];
const binding = { environmentId: "env", registrationId: "registration", streamId: "stream" };
const payload = Buffer.from("authorization");

type Data = Extract<RelayFrame, { kind: "data" }>;

/** One end of a stream, whose carrier does nothing by itself. */
class StreamEnd {
  readonly seen: { messages: string[]; violations: number; ends: (string | undefined)[] } = {
    messages: [],
    violations: 0,
    ends: [],
  };
  readonly stream: RelayStream;
  /** Frames that do not wait for their turn. */
  readonly #urgent: RelayFrame[] = [];
  readonly #waiting = new Set<FrameSource>();

  constructor(ciphers: ReturnType<Initiator["finish"]>) {
    const carrier = {
      send: (frame: Buffer) => this.#urgent.push(readFrame(frame)!),
      schedule: (source: FrameSource) => this.#waiting.add(source),
      unschedule: (source: FrameSource) => this.#waiting.delete(source),
    } as unknown as Carrier;
    this.stream = new RelayStream({
      streamId: "stream",
      carrier,
      ciphers,
      source: "test",
      congested: () => {},
      violated: () => void (this.seen.violations += 1),
      closed: () => {},
    });
    this.stream.open({
      message: (message) => this.seen.messages.push(message),
      drain: () => {},
      close: (reason) => this.seen.ends.push(reason),
    });
  }

  /** Everything that it wants to send now. */
  frames(): RelayFrame[] {
    const frames = this.#urgent.splice(0);
    for (const source of this.#waiting) {
      this.#waiting.delete(source);
      for (let next = source.nextFrame(); next !== undefined; next = source.nextFrame()) {
        frames.push(readFrame(next.frame)!);
        next.sent();
      }
    }
    return frames;
  }

  /** The records that these messages become. */
  records(messages: readonly string[]): Data[] {
    for (const message of messages) this.stream.send(message);
    return this.frames().filter((frame) => frame.kind === "data");
  }

  receive(frames: readonly RelayFrame[]): void {
    for (const frame of frames) {
      if (frame.kind === "data") this.stream.receive(frame.seq, frame.payload);
      if (frame.kind === "ack") this.stream.receiveAck(frame.count);
    }
  }
}

/** Both ends of a stream, with the test in the place of the relay. */
export class StreamPair {
  readonly client: StreamEnd;
  readonly executor: StreamEnd;

  constructor() {
    const initiator = new Initiator(kem, { own: clientKey, peer: executorKey.publicKey, binding, payload });
    const { request } = initiator;
    const { response, ciphers } = new Request(kem, { own: executorKey, binding, request }).accept();
    this.client = new StreamEnd(initiator.finish(response));
    this.executor = new StreamEnd(ciphers);
  }

  /** Carries frames until neither end has any. Returns the bytes of records that went to the client. */
  exchange(): number {
    let bytes = 0;
    for (;;) {
      const [toExecutor, toClient] = [this.client.frames(), this.executor.frames()];
      if (toExecutor.length === 0 && toClient.length === 0) return bytes;
      this.executor.receive(toExecutor);
      this.client.receive(toClient);
      for (const frame of toClient) if (frame.kind === "data") bytes += frame.payload.length;
    }
  }
}
