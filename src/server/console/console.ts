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
import { LoginLog } from "../access/refused-logins.ts";
import { type ConsoleError, sendAsset, sendError, sendIndex, sendJson, sendNotFound } from "./answers.ts";
import { ConsoleAssets } from "./assets.ts";
import { consoleKey, prepareKey } from "./console-key.ts";
import { LinkTokens, type NewLink } from "./link-tokens.ts";
import { type Holder, SessionSecrets } from "./session-secrets.ts";
import { type Caller, type PageAdmission, readJson, SignIn } from "./sign-in.ts";

/** Views of the page, which have addresses of their own. */
const VIEW = /^\/(?:$|[ptfisr](?:\/|$))/;
/** Addresses that stand for every address of the machine, as URLs show them. */
const EVERY_ADDRESS = /^(wss?):\/\/(?:0\.0\.0\.0|\[::\]):/;
const ASSETS = "/assets/";
const SESSION = "/console/session";
const STATE = "/console/state";

export interface ConsoleSurroundings {
  readonly logger: Logger;
  readonly version: string | undefined;
  /** Whether only this machine's users can connect. Nobody else may learn its name. */
  readonly isLocal: boolean;
  /** URLs by which browsers reach the server through a proxy. */
  readonly publicUrls: readonly string[];
  /** Whether clients need a token. */
  readonly takesTokens: boolean;
  /** The command that serves the page, and with it another link, if it is not the server itself. */
  readonly command?: string;
  /** What the page is about. Default: the name of the machine. */
  readonly name?: string | undefined;
  /** File of the page. Default: the console of a server. */
  readonly index?: string | undefined;
  /** Receives failed attempts. */
  readonly refused: (reason: string, from: string) => void;
}

/** The web console: the page, its assets, and how a browser gets in. */
export class Console implements Site {
  readonly origins: readonly string[];
  readonly #assets: ConsoleAssets;
  /** Of the bearers of tokens. */
  readonly #links = new LinkTokens<Holder["bearer"]>();
  readonly #surroundings: ConsoleSurroundings;
  readonly #secrets: SessionSecrets;
  readonly #bearers = new WeakMap<Credential, string>();
  /** By which browsers reach the page through a proxy. */
  readonly #publicUrl: string | undefined;
  #signIn: SignIn | undefined;
  #authenticate: Authenticate | undefined;
  #listening = "";

  constructor({ keyFile, directory }: ConsoleOptions, surroundings: ConsoleSurroundings) {
    this.#assets = new ConsoleAssets(directory, surroundings.index);
    this.#surroundings = surroundings;
    const { publicUrls, logger } = surroundings;
    this.origins = publicUrls.map(pageOrigin);
    // The addresses of the page begin at the root of its host.
    this.#publicUrl = publicUrls.find((url) => new URL(url).pathname === "/");
    if (publicUrls.length > 0 && this.#publicUrl === undefined)
      logger.warn("the web console needs a host name of its own, so its links do not use the public URL", {
        publicUrl: shownUrl(publicUrls[0]!),
        remedy: "let the proxy pass a whole host name on, and name that as the public URL",
      });
    if (keyFile !== undefined) prepareKey(keyFile);
    this.#secrets = new SessionSecrets(consoleKey(keyFile, logger), () => this.#listening);
  }

  /** Says where the server listens: `ws://127.0.0.1:38977`. Secrets are bound to it. */
  listensOn(url: string): void {
    this.#listening = url;
  }

  /** Where a browser finds it. */
  get #url(): string {
    const url = this.#publicUrl ?? this.#listening.replace(EVERY_ADDRESS, `$1://${hostname()}:`);
    return `${pageOrigin(url)}/`;
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

  /** Makes a link for whoever holds this credential, or without one for the user of the server. */
  createLink(credential?: Credential): NewLink {
    return this.#links.create(credential && this.#bearers.get(credential));
  }

  /** A link for a browser of the user of the server. With authentication it holds nothing, because the page asks. */
  link(): string {
    return this.#surroundings.takesTokens ? this.#url : `${this.#url}#link=${this.createLink().token}`;
  }

  admit(presented: Presented): Promise<PageAdmission> {
    return this.#door().admit(presented);
  }

  covers(request: IncomingMessage): boolean {
    const path = pathOf(request);
    // Codex's server answers something else at `/`, which only browsers do not get.
    if (path === "/") return isRead(request) && (request.headers.accept ?? "").includes("text/html");
    return VIEW.test(path) || path.startsWith(ASSETS) || path === SESSION || path === STATE;
  }

  async answer(request: IncomingMessage, response: ServerResponse, asker: Asker): Promise<void> {
    const path = pathOf(request);
    if (path === SESSION) await this.#trade(request, response, asker);
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

  async #trade(request: IncomingMessage, response: ServerResponse, asker: Asker): Promise<void> {
    if (request.method !== "POST") {
      sendError(response, ONLY_POST);
      return;
    }
    const site = request.headers["sec-fetch-site"];
    if (!asker.isOwnPage || (site !== undefined && site !== "same-origin")) {
      sendError(response, FOREIGN);
      return;
    }
    // Whoever could not connect must not use up the link of somebody who can.
    const refusal = await asker.refused();
    if (refusal !== undefined) {
      sendError(response, { status: 403, error: "not-admitted", message: refusal });
      return;
    }
    const body = await readJson(request);
    const answer = "value" in body ? await this.#door().trade(body.value, callerOf(request)) : body;
    if ("error" in answer) sendError(response, answer);
    else sendJson(response, 200, answer);
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

  #door(): SignIn {
    if (this.#signIn !== undefined) return this.#signIn;
    const { logger, refused, takesTokens, publicUrls, command } = this.#surroundings;
    const log = new LoginLog(logger);
    this.#signIn = new SignIn({
      links: this.#links,
      secrets: this.#secrets,
      authenticate: this.#authenticate,
      takesTokens,
      remedy: () =>
        command === undefined
          ? `get another one with: exec-server open --print --url ${publicUrls[0] ?? this.#listening}`
          : `for another one, run: ${command}`,
      refused: (reason, from) => {
        log.refused(`console: ${reason}`, from);
        refused(`console: ${reason}`, from);
      },
    });
    return this.#signIn;
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

const ONLY_READ: ConsoleError = {
  status: 405,
  error: "method",
  message: "Only GET and HEAD are answered here",
};
const ONLY_POST: ConsoleError = { status: 405, error: "method", message: "Only POST is answered here" };
const FOREIGN: ConsoleError = {
  status: 403,
  error: "foreign-origin",
  message: "Only the page of this server may sign in",
};

/** How the web console is served. */
export interface ConsoleOptions {
  /**
   * File with the key of the sessions of browsers, which is made if it is missing. Default: a key in memory, so that
   * browsers have to sign in again after a restart.
   */
  readonly keyFile?: string | undefined;
  /** Directory of the built page. Default: the one of this package. */
  readonly directory?: string | undefined;
}
