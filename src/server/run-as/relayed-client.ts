import type { Socket } from "node:net";
import { formatError } from "../../protocol/envelope.ts";
import { CREDENTIAL_ENDED_CLOSE_CODE, MALFORMED_MESSAGE_ID } from "../../protocol/wire-limits.ts";
import type { Transport } from "../../transport/transport.ts";
import { type Credential, watchValidity } from "../access/credential.ts";
import type { Audit } from "../audit/audit.ts";
import { messageTooLong } from "../settings/limit-error.ts";
import type { ObservedConnection, ServerObserver } from "../settings/observer.ts";
import { Relay } from "./relay.ts";

/** WebSocket's code for an error of the server. */
const SERVER_FAILED = 1011;
const LOST_MS = 2_000;

/** A client that was admitted. */
export interface AdmittedClient {
  readonly resumable: boolean;
  readonly credential: Credential;
  readonly address: () => string;
  readonly number: number;
  readonly ended: (() => void) | undefined;
}

export interface RelayedClientOptions {
  readonly client: AdmittedClient;
  readonly observer: ServerObserver | undefined;
  readonly maxMessageBytes: number;
  ended(): void;
}

/** A client whose requests are carried out by the server of its user. */
export class RelayedClient {
  readonly observed: RelayedObservation;
  readonly #options: RelayedClientOptions;
  readonly #relay: Relay;
  /** Stops watching the credential. */
  readonly #validity: () => void;
  #lost: NodeJS.Timeout | undefined;

  /** `socket` leads to the server of the user. */
  constructor(transport: Transport, socket: Socket, options: RelayedClientOptions) {
    const { client, observer, maxMessageBytes } = options;
    this.#options = options;
    this.observed = new RelayedObservation(transport, client);
    this.#relay = new Relay(transport, socket, {
      tooLong: () => formatError(String(MALFORMED_MESSAGE_ID), messageTooLong(maxMessageBytes)),
      lost: () => {
        // Why it has ended is known a moment later.
        this.#lost = setTimeout(() => this.lost("the server of this user has ended"), LOST_MS);
      },
      closed: (reason) => {
        this.#validity();
        clearTimeout(this.#lost);
        observer?.disconnected?.(this.observed, reason);
        options.ended();
        client.ended?.();
      },
    });
    // Checked here, so that nothing the user does can prevent it.
    this.#validity = watchValidity(client.credential, (reason) =>
      this.#relay.dismiss({ code: CREDENTIAL_ENDED_CLOSE_CODE, reason }),
    );
  }

  open(): void {
    this.#options.observer?.connected?.(this.observed);
    this.#relay.open();
  }

  /** The server of the user is gone, and can record nothing. */
  lost(reason: string, audit?: Audit): void {
    audit?.disconnected(this.observed, reason);
    this.#relay.dismiss({ code: SERVER_FAILED, reason });
  }
}

class RelayedObservation implements ObservedConnection {
  readonly number: number;
  readonly from: string;
  readonly principal: string;
  readonly tokenName: string | undefined;
  session: string | undefined;
  readonly #transport: Transport;

  constructor(transport: Transport, { number, address, credential }: AdmittedClient) {
    this.number = number;
    this.from = address();
    this.principal = credential.principal;
    this.tokenName = credential.name;
    this.#transport = transport;
  }

  get receivedBytes(): number | undefined {
    return this.#transport.receivedBytes;
  }

  get sentBytes(): number | undefined {
    return this.#transport.sentBytes;
  }
}
