import type { Executor } from "../../../client/host/executor.ts";
import type { Fleet } from "../../../client/host/fleet.ts";
import type { FleetAnswer, FleetMessage, FleetRequest } from "../../../console/fleet/fleet-messages.ts";
import { HIGH_WATER_BYTES, type Transport } from "../../../transport/transport.ts";

/** Machines report every two seconds, each at its own time: reports that come together are sent together. */
const PAUSE_MS = 200;
/** A fleet of thousands is reported less often: this much longer for each machine. */
const PAUSE_PER_MACHINE_MS = 0.1;
const MAX_MESSAGE_CHARACTERS = 64 * 1024;
/** Twice as many as a fleet has at most. A page that leaves more unread has to connect again. */
const MAX_WAITING = 40_000;
const MAX_REQUEST_CHARACTERS = 4096;
/** Unanswered, of one page. */
const MAX_REQUESTS = 16;
/** WebSocket: policy violation. */
const VIOLATION = 1008;
/** WebSocket: connect again. */
const TRY_AGAIN = 1013;

/** The data and actions of a page. */
export interface FleetSource {
  readonly name: string;
  readonly servers: string;
  readonly fleet: Pick<Fleet, "state" | "onStateChange" | "list" | "watch" | "cordon" | "uncordon">;
  /** A link to the page of a machine, which works once. */
  readonly open: (id: string) => Promise<string>;
  /** Why something failed, in words for people. */
  readonly explain: (error: unknown) => string;
}

/** Sends a page all machines of a fleet and then their changes, and carries out its requests, until it disconnects. */
export function feedPage(page: Transport, source: FleetSource): void {
  new FleetFeed(page, source).start();
}

class FleetFeed {
  readonly #page: Transport;
  readonly #source: FleetSource;
  /** Pending updates for the page, by id. Undefined: the machine has left. */
  readonly #waiting = new Map<string, Executor | undefined>();
  #size = 0;
  #requests = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(page: Transport, source: FleetSource) {
    this.#page = page;
    this.#source = source;
  }

  start(): void {
    const { name, servers, fleet } = this.#source;
    const ends = [
      fleet.onStateChange((state) => this.#send({ kind: "state", state })),
      fleet.watch(({ kind, executor }) => this.#changed(executor.id, kind === "left" ? undefined : executor)),
    ];
    this.#page.open({
      message: (text) => this.#asked(text),
      drain: () => this.#sendWaiting(),
      close: () => {
        for (const end of ends) end();
        clearTimeout(this.#timer);
        this.#waiting.clear();
      },
    });
    this.#send({ kind: "fleet", name, servers, state: fleet.state });
    const executors = fleet.list();
    this.#size = executors.length;
    for (const executor of executors) this.#waiting.set(executor.id, executor);
    if (executors.length === 0) this.#send({ kind: "machines", machines: [], left: [], isComplete: true });
    this.#sendWaiting();
  }

  #changed(id: string, executor: Executor | undefined): void {
    if (this.#waiting.size >= MAX_WAITING && !this.#waiting.has(id)) {
      this.#page.close({ code: TRY_AGAIN, reason: "the page reads too slowly" });
      return;
    }
    this.#waiting.set(id, executor);
    this.#timer ??= setTimeout(() => this.#sendWaiting(), PAUSE_MS + this.#size * PAUSE_PER_MACHINE_MS);
  }

  /** Sends what waits, as far as the page reads it; the rest when it has. */
  #sendWaiting(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#waiting.size > 0 && this.#page.queuedBytes < HIGH_WATER_BYTES) {
      const machines: Executor[] = [];
      const left: string[] = [];
      let characters = 0;
      for (const [id, executor] of this.#waiting) {
        if (characters >= MAX_MESSAGE_CHARACTERS) break;
        this.#waiting.delete(id);
        characters += JSON.stringify(executor ?? id).length;
        if (executor === undefined) left.push(id);
        else machines.push(executor);
      }
      this.#send({ kind: "machines", machines, left, isComplete: this.#waiting.size === 0 });
    }
  }

  #asked(text: string): void {
    const request = readRequest(text);
    if (request === undefined || this.#requests >= MAX_REQUESTS) {
      this.#page.close({ code: VIOLATION, reason: "not a request of the fleet page, or too many at once" });
      return;
    }
    this.#requests += 1;
    void this.#answer(request).then((answer) => {
      this.#requests -= 1;
      this.#send({ kind: "answer", request: request.request, ...answer });
    });
  }

  async #answer({ do: what, machine }: FleetRequest): Promise<Pick<FleetAnswer, "link" | "error">> {
    const { name, fleet, open, explain } = this.#source;
    try {
      if (!fleet.list().some(({ id }) => id === machine))
        return { error: `${machine} is not in the fleet '${name}'` };
      if (what === "open") return { link: await open(machine) };
      await fleet[what](machine);
      return {};
    } catch (error) {
      return { error: explain(error) };
    }
  }

  #send(message: FleetMessage): void {
    this.#page.send(JSON.stringify(message));
  }
}

function readRequest(text: string): FleetRequest | undefined {
  if (text.length > MAX_REQUEST_CHARACTERS) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { request, do: what, machine } = value as Record<string, unknown>;
  if (typeof request !== "number" || typeof machine !== "string") return undefined;
  return what === "open" || what === "cordon" || what === "uncordon"
    ? { request, do: what, machine }
    : undefined;
}
