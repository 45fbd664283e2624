import type { Beat } from "../../src/fleet/beat.ts";
import { encodeBeat } from "../../src/fleet/beat-message.ts";
import { NatsBus } from "../../src/fleet/nats-bus.ts";
import { beatSubject } from "../../src/fleet/subjects.ts";
import type { NatsServer } from "../fixtures/nats-server.ts";

const EVERY_MS = 1000;
const HOUR_MS = 3_600_000;

type BeatFacts = Pick<Beat, "id" | "running" | "free" | "load"> & Partial<Beat>;

/** A fleet as it might be on a working day. */
const MACHINES: readonly BeatFacts[] = [
  { id: "build-1", running: 6, free: 2, load: 0.81, labels: { os: "linux", zone: "eu-north" } },
  { id: "build-2", running: 8, free: 0, load: 1.34, labels: { os: "linux", zone: "eu-north" } },
  { id: "build-3", running: 1, free: 7, load: 0.12, labels: { os: "linux", zone: "us-east" } },
  { id: "gpu-1", running: 2, free: 2, load: 0.46, labels: { gpu: "a100", zone: "eu-north" } },
  {
    id: "gpu-2",
    running: 0,
    free: 4,
    load: 0.04,
    labels: { gpu: "a100", zone: "us-east" },
    state: "cordoned",
  },
  { id: "lab-7", running: 1, free: 1, load: 0.33, labels: { os: "macos" }, version: "0.8.2" },
  { id: "web-1", running: 3, free: 5, load: 0.29, labels: { zone: "eu-north" } },
  { id: "web-2", running: 1, free: 0, load: 0.51, labels: { zone: "us-east" }, state: "draining" },
];

export const SCENE_NAMES: readonly string[] = MACHINES.map(({ id }) => id);

/** Machines that only announce themselves. */
export class FleetBeats implements AsyncDisposable {
  readonly #bus: NatsBus;
  readonly #began = Date.now();
  /** Each machine's latest beat, which is repeated, or they would count as lost. */
  readonly #last = new Map<string, Beat>();
  readonly #clock: NodeJS.Timeout;
  #rounds = 0;

  static async open(nats: NatsServer): Promise<FleetBeats> {
    return new FleetBeats(await NatsBus.open({ servers: nats.url, user: "exec", pass: "e" }));
  }

  private constructor(bus: NatsBus) {
    this.#bus = bus;
    this.#clock = setInterval(() => {
      this.#rounds += 1;
      for (const beat of this.#last.values()) this.#publish(beat);
    }, EVERY_MS);
  }

  /** No machine has sent more beats than these. */
  get rounds(): number {
    return this.#rounds;
  }

  /** Sends a beat with these facts. */
  sendBeat(facts: BeatFacts): void {
    const beat: Beat = { run: "run", since: this.#began, labels: {}, state: "ready", ...facts };
    this.#last.set(beat.id, beat);
    this.#publish(beat);
  }

  /** All of them tell something once; their loads differ with the number of the round. */
  tell(round: number): void {
    this.#rounds += 1;
    for (const [index, facts] of MACHINES.entries()) {
      const wave = 1 + 0.3 * Math.sin(round / 2 + index) + 0.12 * Math.sin(round * 1.7 + index * 2);
      const since = this.#began - (index * index + 1) * 2.7 * HOUR_MS;
      const load = facts.load * wave;
      this.sendBeat({ version: "0.9.0", since, ...facts, load });
    }
  }

  #publish(beat: Beat): void {
    this.#bus.publish(beatSubject(beat.id), encodeBeat(beat));
  }

  /** All of them leave. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#clock);
    for (const beat of this.#last.values()) this.#publish({ ...beat, state: "gone" });
    await this.#bus.flush();
    await this.#bus.close();
  }
}
