import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { isLoopbackUrl } from "../../base/loopback-url.ts";
import { sendPlain } from "../../transport/websocket/http-pages.ts";
import {
  formatRefusal,
  pathOf,
  type Refusal as HttpRefusal,
} from "../../transport/websocket/http-refusal.ts";
import { ownHosts } from "../../transport/websocket/own-hosts.ts";
import { PendingSockets } from "../../transport/websocket/pending-sockets.ts";
import { refuseRequest } from "../../transport/websocket/request-rules.ts";
import { formatHost, TCP_OPTIONS } from "../../transport/websocket/socket-address.ts";
import { type TlsFront, tlsFront, type TlsMaterial } from "../../transport/websocket/tls-front.ts";
import { Environments } from "./environments.ts";
import { LIMITS } from "./limits.ts";
import { Refusal } from "./refusal.ts";
import { RegistryApi, type RegistryApiOptions } from "./registry-api.ts";
import { RelayMetrics } from "./relay-metrics.ts";
import { Rendezvous } from "./rendezvous.ts";

export interface RelayServiceOptions extends Pick<RegistryApiOptions, "authenticate" | "record"> {
  /** Address under which both ends reach the relay. Default: the one that each asks. */
  readonly publicUrl?: string | undefined;
  /** Whether it takes requests without tokens. Then they must name this machine, so that no web page sends them. */
  readonly isOpen: boolean;
  /** Whether clients may come now. Default: always. */
  readonly mayAdmit?: (() => boolean) | undefined;
  /** Without it, the relay speaks plain HTTP. */
  readonly tls?: TlsMaterial | undefined;
  /** Called for strangers whose requests are not complete, or not for a relay. */
  readonly failed?: ((reason: string, from: string | undefined) => void) | undefined;
}

/** A registry, and the rendezvous of executors with their clients, on one address. */
export class RelayService {
  readonly environments: Environments;
  readonly #options: RelayServiceOptions;
  readonly #http = createServer(TCP_OPTIONS);
  readonly #listener: Server;
  readonly #pending: PendingSockets;
  readonly #api: RegistryApi;
  readonly #rendezvous: Rendezvous;
  readonly #tls: TlsFront | undefined;
  #isDraining = false;

  constructor(options: RelayServiceOptions) {
    const { record, tls, failed, mayAdmit = () => true } = options;
    this.#options = options;
    this.environments = new Environments(record);
    this.#pending = new PendingSockets({ maxPendingConnections: LIMITS.maxPendingSockets, failed });
    const shared = {
      environments: this.environments,
      metrics: new RelayMetrics(),
      isDraining: () => this.#isDraining,
      record,
    };
    const publicUrl = (request: IncomingMessage): string => this.#publicUrl(request);
    this.#api = new RegistryApi({ ...options, ...shared, publicUrl, mayAdmit });
    this.#rendezvous = new Rendezvous({ ...shared, pending: this.#pending });
    this.#http.on("request", (request, response) => {
      this.#pending.asked(request.socket);
      // A body that continues after the answer gets no more time.
      response.once("close", () => request.complete && this.#pending.renew(request.socket));
      const refusal = this.#refuse(request);
      if (refusal === undefined) void this.#api.answer(this.#pathOf(request), request, response);
      else sendPlain(response, refusal);
    });
    this.#http.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      socket.on("error", () => socket.destroy());
      this.#pending.asked(socket);
      const refusal = this.#refuse(request);
      if (refusal === undefined) this.#rendezvous.upgrade(this.#pathOf(request), request, socket, head);
      else this.#pending.turnAway(socket, formatRefusal(refusal));
    });
    this.#tls =
      tls &&
      tlsFront(this.#http, { ...tls, refused: (reason, from) => failed?.(reason, from) }, this.#pending);
    if (this.#tls === undefined) this.#http.on("connection", (socket: Socket) => this.#pending.admit(socket));
    this.#listener = this.#tls?.listener ?? this.#http;
    this.#listener.on("error", ({ message }: Error) => failed?.(`cannot accept: ${message}`, undefined));
  }

  /** Clients that are connected to an executor, or on their way to one. */
  get streams(): number {
    let streams = 0;
    for (const { clients } of this.environments) streams += clients.size;
    return streams;
  }

  /** Returns its own address. */
  async listen(host: string, port: number): Promise<string> {
    this.#listener.listen(port, host);
    await once(this.#listener, "listening");
    const { port: bound } = this.#listener.address() as AddressInfo;
    return `${this.#tls === undefined ? "http" : "https"}://${formatHost(host)}:${bound}`;
  }

  /** Uses other certificates for new connections. */
  renewTls(material: TlsMaterial): void {
    this.#tls?.renew(material);
  }

  /** Admits nobody new; streams go on. */
  drain(): void {
    this.#isDraining = true;
    this.#options.record("drain", { streams: this.streams });
  }

  /** Ends what a token has registered and opened, because it has ended itself. */
  revoke(token: string): void {
    this.#options.record("revoke", { token });
    this.environments.revoke(token);
  }

  /** Ends everything at once. */
  async close(): Promise<void> {
    const closed = once(this.#listener, "close");
    this.#listener.close();
    for (const environment of this.environments) environment.end("the relay has ended");
    this.#rendezvous.destroy();
    this.#http.closeAllConnections();
    this.#pending.destroyAll();
    await closed;
  }

  /** No page in a browser uses a relay. */
  #refuse(request: IncomingMessage): HttpRefusal | undefined {
    const { isOpen } = this.#options;
    const isOwnHost = isOpen ? ownHosts({ address: "127.0.0.1", names: [] }) : undefined;
    return refuseRequest(request, { isOwnHost, allowedOrigins: new Set() });
  }

  /** A proxy may pass on the path of the public address, or remove it. */
  #pathOf(request: IncomingMessage): string {
    const path = pathOf(request);
    const { publicUrl } = this.#options;
    const prefix = publicUrl === undefined ? "/" : new URL(publicUrl).pathname;
    return prefix !== "/" && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
  }

  /** Whoever asks has reached this address, and reaches it again. */
  #publicUrl({ headers: { host } }: IncomingMessage): string {
    if (this.#options.publicUrl !== undefined) return this.#options.publicUrl;
    const text = `${this.#tls === undefined ? "http" : "https"}://${host}`;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url?.host === undefined || (url.protocol === "http:" && !isLoopbackUrl(url)))
      throw new Refusal(
        421,
        "unknown_address",
        "the relay must be started with --public-url URL behind a proxy",
      );
    return url.origin;
  }
}
