import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ProcessRecord } from "./process-record.ts";
import { openSession, type SessionClient, startParams } from "./session-client.ts";

const counter = fileURLToPath(new URL("../fixtures/count-forever.mjs", import.meta.url));
const PAUSE_MS = 2;

export interface Experience {
  readonly lines: number;
  readonly requests: number;
  readonly longestRequestMs: number;
  readonly longestSilenceMs: number;
}

/** A client that minds its own business: it streams the output of a process and asks for the status all the time. */
export class Bystander {
  #client: SessionClient | undefined;
  #record = new ProcessRecord("counter");
  #asking: Promise<void> | undefined;
  #over = false;
  #requests = 0;
  #longestRequestMs = 0;
  #longestSilenceMs = 0;
  #heardAt = 0;

  static async begin(url: string): Promise<Bystander> {
    const bystander = new Bystander();
    const client = await openSession(url, {
      onNotification: (notification) => {
        bystander.#record.addNotification(notification);
        bystander.#heard();
      },
    });
    bystander.#client = client;
    await client.request("process/start", startParams("counter", [process.execPath, counter]));
    bystander.#asking = bystander.#ask(client);
    bystander.#asking.catch(() => {}); // `end` reports it
    return bystander;
  }

  #heard(): void {
    const now = performance.now();
    // The first output waits for a Node process to start, which says nothing about the server.
    if (this.#heardAt > 0) this.#longestSilenceMs = Math.max(this.#longestSilenceMs, now - this.#heardAt);
    this.#heardAt = now;
  }

  async #ask(client: SessionClient): Promise<void> {
    while (!this.#over) {
      const begun = performance.now();
      await client.request("environment/status");
      this.#longestRequestMs = Math.max(this.#longestRequestMs, performance.now() - begun);
      this.#requests++;
      await delay(PAUSE_MS);
    }
  }

  /** Ends the watch. Throws when anything was lost, repeated or refused meanwhile. */
  async end(): Promise<Experience> {
    this.#over = true;
    await this.#asking;
    const client = this.#client;
    if (client === undefined || client.isLost) throw new Error("the bystander lost its connection");
    const output = this.#record.output("stdout").toString();
    const numbers = output.slice(0, output.lastIndexOf("\n")).split("\n");
    const wrong = numbers.findIndex((number, i) => number !== String(i));
    if (wrong !== -1) throw new Error(`the bystander got ${numbers[wrong]} where ${wrong} was written`);
    if (this.#record.faults.length > 0) throw new Error(this.#record.faults.join("\n"));
    client.cut();
    return {
      lines: numbers.length,
      requests: this.#requests,
      longestRequestMs: this.#longestRequestMs,
      longestSilenceMs: this.#longestSilenceMs,
    };
  }
}
