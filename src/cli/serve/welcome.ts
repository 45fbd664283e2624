import { hostname } from "node:os";
import type { FleetOptions } from "../../server/index.ts";
import { VERSION } from "../shared/version.ts";

/** Addresses that stand for every address of the machine, as URLs show them. */
const EVERY_ADDRESS = /^(wss?):\/\/(?:0\.0\.0\.0|\[::\]):/;

export interface Listening {
  /** The URL for clients. */
  readonly url: string;
  readonly needsToken: boolean;
  /** URL of the web console, with the link token. Undefined if it is not served. */
  readonly consoleUrl?: string | undefined;
  /** Where its keeper is, which outlives it. */
  readonly durable?: string | undefined;
  /** The fleet that it is part of. */
  readonly fleet?: Pick<FleetOptions, "id" | "servers"> | undefined;
}

/** The single line on stderr if it is not a terminal, such as a log. */
export function consoleLine(url: string, needsToken: boolean): string {
  return needsToken ? `Console: ${url} (it asks for a token)\n` : `Console: ${url} (this link works once)\n`;
}

/** Help on stderr for a person who starts a server in a terminal. */
export function welcome(listening: Listening): string {
  const how = listening.url.startsWith("fleet:") ? inFleet(listening) : atAddress(listening);
  return `exec-server ${VERSION} ${how}
All commands: exec-server --help
Options of the server: exec-server serve --help
`;
}

function ending({ durable }: Listening): string {
  return durable === undefined
    ? "Ctrl-C ends it, and everything that it runs."
    : `Ctrl-C ends it. What it runs goes on, until: exec-server durable end ${durable}`;
}

function atAddress(server: Listening): string {
  const { url: listening, needsToken, consoleUrl, fleet } = server;
  const url = listening.replace(EVERY_ADDRESS, `$1://${hostname()}:`);
  const token = needsToken ? ", { token }" : "";
  const tokenFile = needsToken ? " --token-file FILE" : "";
  return `listens on ${listening}
${ending(server)}

${consoleUrl === undefined ? "" : inBrowser(url, consoleUrl, needsToken)}From Codex:
  ${codex(url, needsToken)}
From a program:
  import { connect } from "exec-server";
  const host = await connect("${url}"${token});
From another terminal:
  exec-server run --url ${url}${tokenFile} -- uname -a
${fleet === undefined ? "" : overFleet(fleet, token)}`;
}

function inFleet(server: Listening): string {
  const { needsToken, fleet } = server;
  const token = needsToken ? ", { token }" : "";
  return `listens nowhere: clients come over its fleet.
${ending(server)}

${fleet === undefined ? "" : overFleet(fleet, token)}`;
}

function overFleet({ id, servers }: NonNullable<Listening["fleet"]>, token: string): string {
  return `Over the fleet, as ${id}, from a program:
  const host = await connect({ fleet: { servers: ${JSON.stringify(servers)} }, id: "${id}" }${token});
`;
}

function inBrowser(url: string, consoleUrl: string, needsToken: boolean): string {
  return needsToken
    ? `In a browser (it asks for a token):\n  ${consoleUrl}\n`
    : `In a browser (this link works once):\n  ${consoleUrl}\nFor another link:\n  exec-server open --url ${url}\n`;
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
