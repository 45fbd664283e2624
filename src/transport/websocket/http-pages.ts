import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { defined } from "../../base/defined.ts";
import { pathOf, reasonOf, type Refusal } from "./http-refusal.ts";
import { addressOf } from "./socket-address.ts";
import { examine, refuseHolder, type UpgradeOptions } from "./websocket-upgrade.ts";

/** Something that a server answers to plain requests, such as probes. */
export interface Page {
  /** Whether only clients that could connect may read it. */
  readonly isProtected: boolean;
  /** Why a client that could connect may still not read it. Only for protected pages. */
  refuse?(credential: unknown): string | undefined;
  answer(): PageAnswer | Promise<PageAnswer>;
}

export interface PageAnswer {
  readonly status: number;
  readonly body?: string;
  readonly contentType?: string;
}

/** A web site of the server's own, on any paths. */
export interface Site {
  /** Origins of its pages, besides those that the Host of a request names. */
  readonly origins: readonly string[];
  readonly guests?: Guests | undefined;
  /** Whether it answers this request, even if with an error. */
  covers(request: IncomingMessage): boolean;
  /** Answers a request whose host and origin have been checked. */
  answer(request: IncomingMessage, response: ServerResponse, asker: Asker): Promise<void>;
}

/** Sites of others that a site serves under host names of their own. No other rule of the server applies to them. */
export interface Guests {
  /** Whether the Host of a request names one of them, or one that there was. */
  covers(request: IncomingMessage): boolean;
  /** Answers a request. How many there may be at once, and for how long, is up to the guests. */
  answer(request: IncomingMessage, response: ServerResponse, asker: Asker): Promise<void>;
  /** Takes an upgrade. Resolves with the reason if it is refused, otherwise when it is over. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<Refusal | undefined>;
}

/** The sender of a request to a site. */
export interface Asker {
  /** Whether the request has the origin of the site itself. */
  readonly isOwnPage: boolean;
  /** Why the sender could not connect, whatever its credentials; the refusal is then reported. */
  refused(): Promise<string | undefined>;
}

/** Pages by path. */
export type Pages = ReadonlyMap<string, Page>;

/** Probes of every server: it runs, and it is ready. */
export function withProbes(pages: Pages | undefined, isReady: () => boolean): Pages {
  return new Map<string, Page>([
    ["/healthz", { isProtected: false, answer: () => ({ status: 200 }) }],
    ["/readyz", { isProtected: false, answer: () => ({ status: isReady() ? 200 : 503 }) }],
    ...(pages ?? []),
  ]);
}

/** Why the page is not for this method. */
export function refuseMethod({ method }: IncomingMessage): Refusal | undefined {
  if (method === "GET" || method === "HEAD") return undefined;
  return { cause: "request", status: 405, body: "", headers: { allow: "GET,HEAD" } };
}

/** Who sent a request to a site. */
export function askerOf(request: IncomingMessage, isOwnPage: boolean, options: UpgradeOptions): Asker {
  return {
    isOwnPage,
    refused: async () => {
      const refusal = await refuseHolder(request.socket, options);
      if (refusal !== undefined) report(request, refusal, options);
      return refusal?.body;
    },
  };
}

/** Answers a request for a page, whose host, origin and method have been checked. */
export async function answerPage<Credential>(
  page: Page,
  request: IncomingMessage,
  response: ServerResponse,
  options: UpgradeOptions<Credential>,
): Promise<void> {
  const refusal = page.isProtected ? await refusePage(page, request, options) : undefined;
  if (refusal !== undefined) {
    report(request, refusal, options);
    sendPlain(response, refusal);
    return;
  }
  const { status, body = "", contentType } = await page.answer();
  response.writeHead(status, defined({ "content-type": contentType })).end(body);
}

async function refusePage<Credential>(
  page: Page,
  request: IncomingMessage,
  options: UpgradeOptions<Credential>,
): Promise<Refusal | undefined> {
  const { refusal, credential } = (await examine(request.socket, request, options)) ?? {};
  if (refusal !== undefined) return refusal;
  const body = page.refuse?.(credential);
  return body === undefined ? undefined : { cause: "request", status: 403, body };
}

/** Reports to the server's observers. */
export function report(
  request: IncomingMessage,
  refusal: Refusal,
  { refused }: Pick<UpgradeOptions, "refused">,
): void {
  const reason = `${pathOf(request)}: ${reasonOf(refusal)}`;
  refused?.({ cause: refusal.cause, reason, from: addressOf(request.socket) });
}

export function sendPlain(response: ServerResponse, { status, body, headers }: Omit<Refusal, "cause">): void {
  const type = body === "" ? {} : { "content-type": "text/plain; charset=utf-8" };
  response.writeHead(status, { ...type, ...headers }).end(body);
}
