import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../../base/errors.ts";
import type { Transport } from "../../../transport/transport.ts";
import type { Credential } from "../../access/credential.ts";
import { type ConsoleError, consoleError } from "../answers.ts";
import { ownCookie } from "./forward.ts";
import type { PortLink, PreviewedPort } from "./port-link.ts";

/** How previews reach their server, with the rights of the page that has opened them. */
export interface PreviewAccess {
  /** Checks again what the page has shown; undefined stands for the user of the server. */
  admit(
    authorization: string,
    from: string,
  ): Promise<{ readonly refusal: string } | { readonly credential: Credential | undefined }>;
  connect(credential: Credential | undefined, signal: AbortSignal): Promise<Transport>;
}

/** Something is wrong that the person can read about in the browser. */
export class PreviewFault extends Error {
  readonly answer: ConsoleError;

  constructor(answer: ConsoleError) {
    super(answer.message);
    this.answer = answer;
  }
}

/** Requests and WebSockets at the same time. Browsers open six connections, and one for each WebSocket. */
const MAX_STREAMS = 64;
/** How long it is taken for granted that the port is still the user's. */
const CHECKED_MS = 1_000;
const RECHECK_MS = 600;
/** The connection to the server closes when it was not used for so long. */
const IDLE_MS = 5 * 60_000;
const NAME_BYTES = 20;
const SECRET_BYTES = 32;

/** A web app on a port, which has a host name of its own. */
export class Preview {
  /** Label of its host name. */
  readonly name = randomBytes(NAME_BYTES).toString("hex");
  /** Value of the cookie that lets a browser in. */
  readonly secret = randomBytes(SECRET_BYTES).toString("base64url");
  readonly target: PreviewedPort;
  /** What the page has shown when it opened this last. */
  authorization: string;
  readonly #access: PreviewAccess;
  readonly #streams = new Set<Duplex>();
  #dialling = 0;
  #opening: Promise<PortLink> | undefined;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #idle: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(target: PreviewedPort, authorization: string, access: PreviewAccess) {
    this.target = target;
    this.authorization = authorization;
    this.#access = access;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Whether a request comes from a browser that was let in. */
  admits({ headers }: IncomingMessage): boolean {
    const shown = ownCookie(headers.cookie ?? "");
    return shown !== undefined && timingSafeEqual(digest(shown), digest(this.secret));
  }

  /** Connects to the port. Rejects with a PreviewFault if that is not possible now. */
  async dial(from: string): Promise<Duplex> {
    if (this.#streams.size + this.#dialling >= MAX_STREAMS) throw new PreviewFault(BUSY);
    this.#dialling += 1;
    clearTimeout(this.#idle);
    try {
      const stream = await this.#connect(from);
      this.#streams.add(stream);
      stream.once("close", () => {
        this.#streams.delete(stream);
        this.#rest();
      });
      // Those who read and write learn of errors.
      stream.on("error", () => {});
      if (this.#ended) stream.destroy();
      return stream;
    } finally {
      this.#dialling -= 1;
      this.#rest();
    }
  }

  /** Ends it, and everything that is open. */
  end(): void {
    this.#ended = true;
    clearTimeout(this.#idle);
    for (const stream of this.#streams) stream.destroy();
    this.#disconnect();
  }

  async #connect(from: string): Promise<Duplex> {
    const admission = await this.#access.admit(this.authorization, from);
    if ("refusal" in admission) this.end();
    if ("refusal" in admission || this.#ended) throw new PreviewFault(OVER);
    try {
      const link = await this.#link(admission.credential);
      await this.#check(link);
      return await link.connect(this.target);
    } catch (error) {
      if (error instanceof PreviewFault) throw error;
      throw new PreviewFault(notConnected(this.target.port, error));
    }
  }

  /** The port may have been closed, and opened by a program of another user. */
  async #check(link: PortLink): Promise<void> {
    if (performance.now() - this.#checkedAtMs < CHECKED_MS) return;
    let listens = await link.listens(this.target);
    if (!listens) {
      // A server lists what it has seen within half a second, and a program may just have been started again.
      await delay(RECHECK_MS);
      listens = await link.listens(this.target);
    }
    if (!listens) throw new PreviewFault(notListening(this.target.port));
    this.#checkedAtMs = performance.now();
  }

  /** The connection to the server, which is opened when there is none. */
  #link(credential: Credential | undefined): Promise<PortLink> {
    if (this.#opening !== undefined) return this.#opening;
    const forget = (): void => {
      if (this.#opening === opening) this.#opening = undefined;
    };
    // Only previews need the parts of a client.
    const opening = import("./port-link.ts").then(({ openPortLink }) =>
      openPortLink((signal) => this.#access.connect(credential, signal), forget),
    );
    opening.catch(forget);
    this.#opening = opening;
    return opening;
  }

  #rest(): void {
    clearTimeout(this.#idle);
    if (this.#streams.size + this.#dialling > 0) return;
    this.#idle = setTimeout(() => this.#disconnect(), IDLE_MS).unref();
  }

  #disconnect(): void {
    this.#opening?.then(
      (link) => link.close(),
      () => {},
    );
    this.#opening = undefined;
  }
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function notConnected(port: number, error: unknown): ConsoleError {
  return consoleError(502, "not-connected", `Cannot connect to port ${port}: ${messageOf(error)}`);
}

function notListening(port: number): ConsoleError {
  return consoleError(
    502,
    "not-listening",
    `None of your processes listens on port ${port} now; start the program, then try again`,
  );
}

const BUSY = consoleError(
  503,
  "too-many-connections",
  "Too many connections to this port at once; try again",
);
export const OVER = consoleError(
  403,
  "preview-over",
  "This preview is over; open the port again in the web console, under Ports",
);
