import type { Host } from "../../../client/host/host.ts";

/** When the events of a process came, by the server's clock. They are asked for many at a time. */
export class EventTimes {
  readonly #host: Host;
  readonly #processId: string;
  #firstSeq = 0;
  #timesMs: readonly number[] = [];

  constructor(host: Host, processId: string) {
    this.#host = host;
    this.#processId = processId;
  }

  /** As ISO 8601; undefined if the server no longer has the event. */
  async of(seq: number): Promise<string | undefined> {
    const known = this.#known(seq);
    if (known !== undefined) return known;
    const answer = await this.#host.request("process/times", { processId: this.#processId, fromSeq: seq });
    this.#firstSeq = answer.firstSeq;
    this.#timesMs = answer.timesMs;
    return this.#known(seq);
  }

  #known(seq: number): string | undefined {
    const time = this.#timesMs[seq - this.#firstSeq];
    return time === undefined ? undefined : new Date(time).toISOString();
  }
}
