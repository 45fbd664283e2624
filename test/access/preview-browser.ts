import { once } from "node:events";
import { connect as connectSocket } from "node:net";
import { fileURLToPath } from "node:url";
import { WebSocket } from "ws";
import type { Host } from "../../src/client/host/host.ts";
import { browse, type BrowserAnswer, originOf } from "./console-browser.ts";

/** Says what it was asked; see the file. */
export const ECHO_APP = fileURLToPath(new URL("../fixtures/echo-app.mjs", import.meta.url));

/** Starts a web app on the server's machine. Resolves with its port. */
export async function startApp(host: Host, listen = "127.0.0.1"): Promise<number> {
  const process_ = await host.start([process.execPath, ECHO_APP, listen]);
  for await (const line of process_.lines()) return Number(line);
  throw new Error("the app ended");
}

/** Asks for a preview as the page does. */
export function askFor(
  url: string,
  secret: string | undefined,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<BrowserAnswer> {
  return browse(url, "/console/previews", {
    method: "POST",
    body: JSON.stringify(body),
    headers: {
      origin: originOf(url),
      "content-type": "application/json",
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      ...headers,
    },
  });
}

/** A browser that has opened a preview, or that only knows its name. */
export class PreviewBrowser {
  readonly server: string;
  readonly link: URL;
  cookie: string | undefined;

  /** Opens a port as the page does, and then its link. */
  static async open(
    server: string,
    secret: string,
    port: number,
    host = "127.0.0.1",
  ): Promise<PreviewBrowser> {
    const answer = await askFor(server, secret, { port, host });
    if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body.toString()}`);
    const browser = new PreviewBrowser(server, String(answer.json()["url"]));
    const { headers } = await browser.get(browser.entrance);
    [browser.cookie] = headers["set-cookie"]?.[0]?.split(";", 1) ?? [];
    return browser;
  }

  constructor(server: string, link: string) {
    this.server = server;
    this.link = new URL(link);
  }

  /** Path of the link, with its key. */
  get entrance(): string {
    return `${this.link.pathname}${this.link.search}`;
  }

  /** Another browser, which has the link. */
  another(): PreviewBrowser {
    return new PreviewBrowser(this.server, this.link.href);
  }

  get(path: string, options: Parameters<typeof browse>[2] = {}): Promise<BrowserAnswer> {
    return browse(this.server, path, { ...options, headers: { ...this.#headers(), ...options.headers } });
  }

  /** Opens a WebSocket. Resolves with it and its first message, or with the status of the refusal. */
  async socket(path = "/"): Promise<{ socket: WebSocket; first: string } | number> {
    const socket = new WebSocket(`${this.server}${path}`, { headers: this.#headers() });
    return new Promise((resolve, reject) => {
      socket.on("message", (data: Buffer) => resolve({ socket, first: data.toString() }));
      socket.on("unexpected-response", (_, response) => {
        resolve(response.statusCode ?? 0);
        socket.on("error", () => {});
        socket.terminate();
      });
      socket.on("error", reject);
    });
  }

  /** Sends exactly this text, in which HOST and COOKIE stand for theirs. Resolves with all of the answer. */
  async raw(text: string): Promise<string> {
    const { hostname, port } = new URL(this.server);
    const socket = connectSocket(Number(port), hostname);
    socket.write(text.replaceAll("HOST", this.link.host).replaceAll("COOKIE", this.cookie ?? "none=1"));
    let answer = "";
    socket.on("data", (data: Buffer) => (answer += data.toString("latin1")));
    await once(socket, "close");
    return answer;
  }

  #headers(): Record<string, string> {
    return { host: this.link.host, ...(this.cookie === undefined ? {} : { cookie: this.cookie }) };
  }
}
