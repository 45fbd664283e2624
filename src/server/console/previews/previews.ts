import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { messageOf } from "../../../base/errors.ts";
import type { Asker, Guests } from "../../../transport/websocket/http-pages.ts";
import { type Refusal, refuseUpgrade } from "../../../transport/websocket/http-refusal.ts";
import { hostOf } from "../../../transport/websocket/own-hosts.ts";
import { addressOf } from "../../../transport/websocket/socket-address.ts";
import { type ConsoleError, consoleError } from "../answers.ts";
import { LinkTokens } from "../link-tokens.ts";
import { COOKIE, forwardRequest, forwardUpgrade } from "./forward.ts";
import type { PreviewedPort } from "./port-link.ts";
import { OVER, Preview, type PreviewAccess, PreviewFault } from "./preview.ts";

/** Of one party; a further one replaces its oldest. */
const MAX_OF_ONE = 16;
const MAX_PREVIEWS = 64;
const HOST = /^([0-9a-f]{40})\.localhost$/;
const ENTRANCE = /^\/\?exec-server-preview=([A-Za-z0-9_-]{43})$/;

/** The page that opens a port. */
export interface PreviewOpener {
  readonly authorization: string;
  readonly from: string;
  /** Equal for pages with the same user and the same rights. */
  readonly party: string;
  /** Port of the page's address, with its colon. */
  readonly colonPort: string;
}

/** Web apps of the user's processes, each under a host name of its own below `localhost`. */
export class Previews implements Guests {
  readonly #access: PreviewAccess;
  /** By party and port, the one that was opened last at the end. */
  readonly #previews = new Map<string, { readonly party: string; readonly preview: Preview }>();
  readonly #byName = new Map<string, Preview>();
  readonly #keys = new LinkTokens<Preview>();

  constructor(access: PreviewAccess) {
    this.#access = access;
  }

  /** Opens a port. Resolves with a URL that lets one browser in. Rejects with a PreviewFault. */
  async open(
    { authorization, from, party, colonPort }: PreviewOpener,
    target: PreviewedPort,
  ): Promise<string> {
    const id = JSON.stringify([party, target.host, target.port]);
    const known = this.#current(id);
    const opened = known ?? new Preview(target, authorization, this.#access);
    opened.authorization = authorization;
    // A browser would show an error; the page can say what to do.
    try {
      (await opened.dial(from)).destroy();
    } catch (error) {
      if (opened !== known) opened.end();
      throw error;
    }
    // Another page may have been faster.
    const preview = this.#current(id) ?? opened;
    if (preview !== opened) opened.end();
    preview.authorization = authorization;
    this.#previews.delete(id);
    this.#previews.set(id, { party, preview });
    this.#byName.set(preview.name, preview);
    this.#dropOldest(party);
    const { token } = this.#keys.create(preview);
    return `http://${preview.name}.localhost${colonPort}/?${COOKIE}=${token}`;
  }

  covers(request: IncomingMessage): boolean {
    return nameIn(request) !== undefined;
  }

  async answer(request: IncomingMessage, response: ServerResponse, asker: Asker): Promise<void> {
    const { url = "" } = request;
    const preview = this.#find(request);
    const [, key] = ENTRANCE.exec(url) ?? [];
    if (preview === undefined) refuse(response, OVER);
    else if (key !== undefined) await this.#letIn(preview, key, request, response, asker);
    else if (!preview.admits(request)) refuse(response, NOT_OPENED);
    else if (!url.startsWith("/")) refuse(response, NOT_A_PATH);
    else
      try {
        await forwardRequest(request, response, await preview.dial(addressOf(request.socket)));
      } catch (error) {
        if (response.headersSent) response.destroy();
        else refuse(response, answerTo(error));
      }
  }

  async upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<Refusal | undefined> {
    const preview = this.#find(request);
    if (preview === undefined) return asRefusal(OVER);
    if (!preview.admits(request)) return asRefusal(NOT_OPENED);
    if (request.url?.startsWith("/") !== true) return asRefusal(NOT_A_PATH);
    const malformed = refuseUpgrade(request);
    if (malformed !== undefined) return malformed;
    try {
      const upstream = await preview.dial(addressOf(socket));
      await forwardUpgrade(request, socket, head, upstream);
      return undefined;
    } catch (error) {
      return asRefusal(answerTo(error));
    }
  }

  close(): void {
    for (const preview of this.#byName.values()) preview.end();
    this.#previews.clear();
    this.#byName.clear();
  }

  /** Trades a key, which works once, for the cookie. */
  async #letIn(
    preview: Preview,
    key: string,
    request: IncomingMessage,
    response: ServerResponse,
    asker: Asker,
  ): Promise<void> {
    // A client that could not connect must not use up another one's key.
    const refusal = await asker.refused();
    if (refusal !== undefined) return refuse(response, consoleError(403, "not-admitted", refusal));
    if (request.method !== "GET") return refuse(response, NOT_OPENED);
    const spent = this.#keys.spend(key);
    const isValid = spent.state === "valid" && spent.holder === preview;
    if (!isValid && !preview.admits(request)) return refuse(response, NOT_OPENED);
    const cookie = `${COOKIE}=${preview.secret}; Path=/; HttpOnly; SameSite=Lax`;
    response
      .writeHead(303, {
        location: "/",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "content-length": "0",
        ...(isValid ? { "set-cookie": cookie } : {}),
      })
      .end();
  }

  #current(id: string): Preview | undefined {
    const preview = this.#previews.get(id)?.preview;
    return preview?.ended === true ? undefined : preview;
  }

  #find(request: IncomingMessage): Preview | undefined {
    const preview = this.#byName.get(nameIn(request) ?? "");
    return preview?.ended === true ? undefined : preview;
  }

  #dropOldest(party: string): void {
    for (const [id, { preview }] of this.#previews) if (preview.ended) this.#drop(id);
    const own = [...this.#previews].filter(([, each]) => each.party === party);
    if (own.length > MAX_OF_ONE) this.#drop(own[0]![0]);
    else if (this.#previews.size > MAX_PREVIEWS) this.#drop(this.#previews.keys().next().value!);
  }

  #drop(id: string): void {
    const { preview } = this.#previews.get(id)!;
    this.#previews.delete(id);
    this.#byName.delete(preview.name);
    preview.end();
  }
}

/** The name of a preview in the Host of a request, whether or not there is such a preview. */
function nameIn({ headersDistinct }: IncomingMessage): string | undefined {
  const [host, ...others] = headersDistinct["host"] ?? [];
  if (host === undefined || others.length > 0) return undefined;
  return HOST.exec(hostOf(host) ?? "")?.[1];
}

function answerTo(error: unknown): ConsoleError {
  if (error instanceof PreviewFault) return error.answer;
  return consoleError(502, "no-answer", `The program sent no answer that can be shown: ${messageOf(error)}`);
}

function refuse(response: ServerResponse, { status, message }: ConsoleError): void {
  const headers = {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  response.writeHead(status, headers).end(`${message}\n`);
}

function asRefusal({ status, message }: ConsoleError): Refusal {
  return { cause: "request", status, body: message };
}

const NOT_OPENED = consoleError(
  403,
  "not-opened",
  "This browser has not opened this port; open it in the web console, under Ports",
);
const NOT_A_PATH = consoleError(400, "not-a-path", "The request must name a path");
