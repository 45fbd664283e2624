import type { IncomingMessage, ServerResponse } from "node:http";
import { hostname } from "node:os";
import type { Logger } from "../../base/logger.ts";
import { shownUrl } from "../../base/shown-url.ts";
import { clientCertificateOf } from "../../transport/websocket/client-certificates.ts";
import type { Asker, Site } from "../../transport/websocket/http-pages.ts";
import { pathOf } from "../../transport/websocket/http-refusal.ts";
import { addressOf } from "../../transport/websocket/socket-address.ts";
import type { Authenticate, Presented } from "../access/authentication.ts";
import { bearerToken } from "../access/bearer-token.ts";
import type { Credential } from "../access/credential.ts";
import { RefusalLog } from "../access/refusal-log.ts";
import {
  type ConsoleError,
  consoleError,
  sendAsset,
  sendError,
  sendIndex,
  sendJson,
  sendNotFound,
} from "./answers.ts";
import { ConsoleAssets } from "./assets.ts";
import { consoleKey, prepareKey } from "./console-key.ts";
import { LinkTokens, type NewLink } from "./link-tokens.ts";
import { type PreviewAccess, PreviewFault } from "./previews/preview.ts";
import { Previews } from "./previews/previews.ts";
import { type Holder, SessionSecrets } from "./session-secrets.ts";
import { type Caller, type PageAdmission, readJson, SignIn } from "./sign-in.ts";

/** Views of the page, which have their own addresses. */
const VIEW = /^\/(?:$|[ptfisro](?:\/|$))/;
/** Addresses that stand for every address of the machine, as URLs show them. */
const EVERY_ADDRESS = /^(wss?):\/\/(?:0\.0\.0\.0|\[::\]):/;
const ASSETS = "/assets/";
const SESSION = "/console/session";
const STATE = "/console/state";
const PREVIEWS = "/console/previews";
/** What a browser shows at the other end of a forwarded port, too. */
const LOOPBACK_ORIGIN = /^http:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/;

export interface ConsoleSurroundings {
  readonly logger: Logger;
  readonly version: string | undefined;
  /** Whether only this machine's users can connect. Others must not learn its name. */
  readonly isLocal: boolean;
  /** URLs with which browsers reach the server through a proxy. */
  readonly publicUrls: readonly string[];
  /** Whether clients need a token. */
  readonly takesTokens: boolean;
  /** The command that serves the page, and with it another link, if it is not the server itself. */
  readonly command?: string;
  /** The page's subject. Default: the name of the machine. */
  readonly name?: string | undefined;
  /** File of the page. Default: the console of a server. */
  readonly index?: string | undefined;
  /** Connects to the server with the rights of a page, for previews. Default: no previews. */
  readonly connect?: PreviewAccess["connect"] | undefined;
  /** Receives failed attempts. */
  readonly refused: (reason: string, from: string) => void;
}

/** The web console: the page, its assets, and how a browser gets in. */
export class Console implements Site {
  readonly origins: readonly string[];
  readonly guests: Previews | undefined;
  readonly #assets: ConsoleAssets;
  /** Links for token holders. */
  readonly #links = new LinkTokens<Holder["bearer"]>();
  readonly #surroundings: ConsoleSurroundings;
  readonly #bearers = new WeakMap<Credential, string>();
  /** URL with which browsers reach the page through a proxy. */
  readonly #publicUrl: string | undefined;
  readonly #signIn: SignIn;
  #authenticate: Authenticate | undefined;
  #listening = "";

  constructor({ keyFile, directory }: ConsoleOptions, surroundings: ConsoleSurroundings) {
    this.#assets = new ConsoleAssets(directory, surroundings.index);
    this.#surroundings = surroundings;
    const { publicUrls, logger, takesTokens, command, connect } = surroundings;
    this.guests =
      connect &&
      new Previews({
        admit: (authorization, from) => this.admit({ authorization, from }),
        connect,
      });
    this.origins = publicUrls.map(pageOrigin);
    // The addresses of the page begin at the root of its host.
    this.#publicUrl = publicUrls.find((url) => new URL(url).pathname === "/");
    if (publicUrls.length > 0 && this.#publicUrl === undefined)
      logger.warn("the web console needs a host name of its own, so its links do not use the public URL", {
        publicUrl: shownUrl(publicUrls[0]!),
        remedy: "have the proxy forward a whole host name, and set that as the public URL",
      });
    if (keyFile !== undefined) prepareKey(keyFile);
    const log = new RefusalLog(logger);
    this.#signIn = new SignIn({
      links: this.#links,
      secrets: new SessionSecrets(consoleKey(keyFile, logger), () => this.#listening),
      authenticate: async (presented) => this.#authenticate?.(presented) ?? { credential: undefined },
      takesTokens,
      remedy: () =>
        command === undefined
          ? `get another one with: exec-server open --print --url ${publicUrls[0] ?? this.#reachable}${takesTokens ? " --token-file FILE" : ""}`
          : `for another one, run: ${command}`,
      refused: (reason, from) => {
        log.refused(`console: ${reason}`, from);
        surroundings.refused(`console: ${reason}`, from);
      },
    });
  }

  /** Says where the server listens: `ws://127.0.0.1:38977`. Secrets are bound to it. */
  listensOn(url: string): void {
    this.#listening = url;
  }

  /** The address for clients: on another machine, one that stands for all addresses would be that machine's. */
  get #reachable(): string {
    return this.#listening.replace(EVERY_ADDRESS, `$1://${hostname()}:`);
  }

  /** URL for browsers. */
  get #url(): string {
    return `${pageOrigin(this.#publicUrl ?? this.#reachable)}/`;
  }

  /** Checks tokens with this function from now on. Returns one that also remembers them, for links. */
  using(authenticate: Authenticate): Authenticate {
    this.#authenticate = async (presented) => {
      const answer = await authenticate(presented);
      const bearer = bearerToken(presented.authorization ?? "");
      if (!("refusal" in answer) && bearer !== undefined) this.#bearers.set(answer.credential, bearer);
      return answer;
    };
    return this.#authenticate;
  }

  /** Creates a link for the holder of this credential, or without one for the server's user. */
  createLink(credential?: Credential): NewLink {
    return this.#links.create(credential && this.#bearers.get(credential));
  }

  /** A link for a browser of the user of the server. With authentication it holds nothing, because the page asks. */
  link(): string {
    return this.#surroundings.takesTokens ? this.#url : `${this.#url}#link=${this.createLink().token}`;
  }

  admit(presented: Presented): Promise<PageAdmission> {
    return this.#signIn.admit(presented);
  }

  covers(request: IncomingMessage): boolean {
    const path = pathOf(request);
    // Codex's server answers `/` differently; only browsers get the page.
    if (path === "/") return isRead(request) && (request.headers.accept ?? "").includes("text/html");
    return VIEW.test(path) || path.startsWith(ASSETS) || [SESSION, STATE, PREVIEWS].includes(path);
  }

  async answer(request: IncomingMessage, response: ServerResponse, asker: Asker): Promise<void> {
    const path = pathOf(request);
    if (path === SESSION) await this.#post(request, response, asker, (body) => this.#trade(body, request));
    else if (path === PREVIEWS)
      await this.#post(request, response, asker, (body) => this.#openPort(body, request));
    else if (!isRead(request)) sendError(response, ONLY_READ);
    else if (path === STATE) sendJson(response, 200, await this.#state(request));
    else if (path.startsWith(ASSETS)) await this.#asset(path.slice(ASSETS.length), request, response);
    else sendIndex(response, await this.#assets.index());
  }

  async #asset(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asset = await this.#assets.asset(name);
    if (asset === undefined) sendNotFound(response);
    else sendAsset(request, response, asset);
  }

  /** Takes a request from the page itself that changes something. */
  async #post(
    request: IncomingMessage,
    response: ServerResponse,
    asker: Asker,
    act: (body: unknown) => Promise<{ secret: string } | { url: string } | ConsoleError>,
  ): Promise<void> {
    if (request.method !== "POST") {
      sendError(response, ONLY_POST);
      return;
    }
    const site = request.headers["sec-fetch-site"];
    if (!asker.isOwnPage || (site !== undefined && site !== "same-origin")) {
      sendError(response, FOREIGN);
      return;
    }
    // A client that could not connect must not use up another one's link.
    const refusal = await asker.refused();
    if (refusal !== undefined) {
      sendError(response, consoleError(403, "not-admitted", refusal));
      return;
    }
    const body = await readJson(request);
    const answer = "value" in body ? await act(body.value) : body;
    if ("error" in answer) sendError(response, answer);
    else sendJson(response, 200, answer);
  }

  #trade(body: unknown, request: IncomingMessage): Promise<{ secret: string } | ConsoleError> {
    return this.#signIn.trade(body, callerOf(request));
  }

  /** Opens a port of the user's processes. Answers with a URL for one browser. */
  async #openPort(body: unknown, request: IncomingMessage): Promise<{ url: string } | ConsoleError> {
    const { authorization, origin = "" } = request.headers;
    const { port, host } = (body ?? {}) as { readonly [name: string]: unknown };
    if (this.guests === undefined) return NO_PREVIEWS;
    if (typeof port !== "number" || typeof host !== "string") return NO_PORT;
    const loopback = LOOPBACK_ORIGIN.exec(origin);
    if (loopback === null || "encrypted" in request.socket) return notLocal(origin);
    const caller = callerOf(request);
    const admission = await this.admit({ authorization, ...caller });
    if (authorization === undefined || "refusal" in admission) return NOT_SIGNED_IN;
    const { principal, rights } = admission.credential ?? {};
    const party = JSON.stringify([principal, rights?.key]);
    const [, colonPort = ""] = loopback;
    try {
      const opener = { authorization, from: caller.from, party, colonPort };
      return { url: await this.guests.open(opener, { port, host }) };
    } catch (error) {
      if (error instanceof PreviewFault) return error.answer;
      throw error;
    }
  }

  async #state(request: IncomingMessage): Promise<object> {
    const { takesTokens, isLocal, version, command, name = hostname() } = this.#surroundings;
    const { authorization } = request.headers;
    const admission =
      authorization === undefined ? undefined : await this.admit({ authorization, ...callerOf(request) });
    const isAdmitted = admission !== undefined && !("refusal" in admission);
    return {
      authentication: takesTokens ? "token" : "link",
      name: isLocal || isAdmitted ? name : null,
      version: version ?? null,
      ...(command === undefined ? {} : { command }),
      ...(admission === undefined ? {} : { session: isAdmitted ? "valid" : "over" }),
    };
  }
}

/** The origin of pages from the server with this URL. */
function pageOrigin(url: string): string {
  return new URL(new URL(url).href.replace(/^ws/, "http")).origin;
}

function isRead({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}

function callerOf({ socket }: IncomingMessage): Caller {
  const clientCertificate = clientCertificateOf(socket);
  return { from: addressOf(socket), ...(clientCertificate === undefined ? {} : { clientCertificate }) };
}

const ONLY_READ = consoleError(405, "method", "Only GET and HEAD are answered here");
const ONLY_POST = consoleError(405, "method", "Only POST is answered here");
const FOREIGN = consoleError(403, "foreign-origin", "Only this server's own page may do this");
const NO_PREVIEWS = consoleError(404, "no-previews", "Ports cannot be opened here");
const NO_PORT = consoleError(
  400,
  "bad-request",
  'The body must be JSON such as { "port": 5173, "host": "127.0.0.1" }',
);
const NOT_SIGNED_IN = consoleError(401, "session-over", "This session is over; sign in again");

function notLocal(origin: string): ConsoleError {
  return consoleError(
    409,
    "not-local",
    `Ports open only from a console at http://localhost or http://127.0.0.1, not ${origin}; forward the server's port with ssh -L, or use 'exec-server open'`,
  );
}

/** Options of the web console. */
export interface ConsoleOptions {
  /**
   * File with the key of the sessions of browsers, which is made if it is missing. Default: a key in memory, so that
   * browsers have to sign in again after a restart.
   */
  readonly keyFile?: string | undefined;
  /** Directory of the built page. Default: the one of this package. */
  readonly directory?: string | undefined;
}
