import { hostname } from "node:os";
import { VERSION } from "./version.ts";

/** Addresses that stand for every address of the machine, as URLs show them. */
const EVERY_ADDRESS = /^(wss?):\/\/(?:0\.0\.0\.0|\[::\]):/;

export interface Listening {
  /** The URL for clients. */
  readonly url: string;
  readonly needsToken: boolean;
  /** Where the web console is, with what lets a browser in. Undefined if it is not served. */
  readonly consoleUrl?: string | undefined;
}

/** The one line for whoever reads stderr without a terminal, such as a log. */
export function consoleLine(url: string, needsToken: boolean): string {
  return needsToken ? `Console: ${url} (it asks for a token)\n` : `Console: ${url} (this link works once)\n`;
}

/** What a person who starts a server in a terminal should know: some lines for stderr. */
export function welcome({ url: listening, needsToken, consoleUrl }: Listening): string {
  const url = listening.replace(EVERY_ADDRESS, `$1://${hostname()}:`);
  const token = needsToken ? ", { token }" : "";
  const tokenFile = needsToken ? " --token-file FILE" : "";
  return `exec-server ${VERSION} listens on ${listening}. Ctrl-C ends it, and everything that it runs.

${consoleUrl === undefined ? "" : inBrowser(url, consoleUrl, needsToken)}From Codex:
  ${codex(url, needsToken)}
From a program:
  import { connect } from "exec-server"; const host = await connect("${url}"${token});
From another terminal:
  exec-server run --url ${url}${tokenFile} -- uname -a

All commands: exec-server --help. Options of the server: exec-server serve --help.
`;
}

function inBrowser(url: string, consoleUrl: string, needsToken: boolean): string {
  const how = needsToken ? "it asks for a token" : `once; for another link: exec-server open --url ${url}`;
  return `In a browser (${how}):\n  ${consoleUrl}\n`;
}

/** Codex takes a token, and a command that reaches a socket, only from its file. */
function codex(url: string, needsToken: boolean): string {
  if (url.startsWith("ws+unix:"))
    return inFile(`program = "exec-server", args = ["bridge", "--stdio", "--url", "${url}"]`);
  return needsToken
    ? inFile(`url = "${url}", auth_bearer_token = "TOKEN"`)
    : `CODEX_EXEC_SERVER_URL=${url} codex`;
}

function inFile(keys: string): string {
  return `in environments.toml: environments = [{ id = "here", ${keys} }]`;
}
