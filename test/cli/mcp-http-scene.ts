import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type ServerUnderTest, startServer } from "../fault/server-under-test.ts";
import { type McpMeeting, McpUser } from "./mcp-scene.ts";

/** Names of tokens. `files` is confined to a directory of its own. */
const TOKENS = ["full", "other", "sandboxed", "files", "readers", "observe"] as const;
export type TokenName = (typeof TOKENS)[number];

/** An answer in HTTP, with the message in its body, whether that is JSON or a stream of events. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly message: { readonly result?: Record<string, unknown>; readonly error?: Record<string, unknown> };
}

/** A server with `--mcp`, a root that a sandbox protects, and tokens. */
export class McpHttpScene implements AsyncDisposable {
  readonly place = realpathSync(mkdtempSync("/var/tmp/es-mcp-http-"));
  readonly root = join(this.place, "root");
  readonly files = join(this.place, "files");
  readonly secrets = Object.fromEntries(TOKENS.map((name) => [name, randomUUID()])) as Record<
    TokenName,
    string
  >;
  readonly #users: McpUser[] = [];
  #server: ServerUnderTest | undefined;

  constructor() {
    mkdirSync(this.root);
    mkdirSync(this.files);
    mkdirSync(join(this.place, "own"));
  }

  get server(): ServerUnderTest {
    return this.#server!;
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.port}/mcp`;
  }

  get table(): string {
    return join(this.place, "own", "tokens.toml");
  }

  get auditLog(): string {
    return join(this.place, "own", "audit.log");
  }

  /** Lines of the audit log. */
  get audited(): readonly Record<string, unknown>[] {
    return readFileSync(this.auditLog, "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async serve(args: readonly string[] = []): Promise<void> {
    this.writeTokens();
    this.#server = await startServer({
      args: [
        "--mcp",
        `--mcp-root=${this.root}`,
        `--audit=${this.auditLog}`,
        "--ws-auth=token-table",
        `--ws-token-table=${this.table}`,
        ...args,
      ],
    });
  }

  /** Writes the token table, without those that are withdrawn. */
  writeTokens(withdrawn: readonly TokenName[] = []): void {
    const more: Partial<Record<TokenName, string>> = {
      sandboxed: `policy = { write = [${JSON.stringify(this.root)}] }`,
      files: `roots = [${JSON.stringify(this.files)}]`,
      readers: `roots = [${JSON.stringify(this.files)}]\nread_only = true`,
    };
    const presets: Partial<Record<TokenName, string>> = { other: "full", readers: "files" };
    const entries = TOKENS.filter((name) => !withdrawn.includes(name)).map((name) =>
      [
        "[[token]]",
        `name = "${name}"`,
        `sha256 = "${createHash("sha256").update(this.secrets[name]).digest("hex")}"`,
        `preset = "${presets[name] ?? name}"`,
        more[name] ?? "",
      ].join("\n"),
    );
    writeFileSync(this.table, entries.join("\n\n"), { mode: 0o600 });
  }

  /** A client of the SDK. */
  async connect(meeting: McpMeeting = {}, token: TokenName = "full"): Promise<McpUser> {
    const transport = new StreamableHTTPClientTransport(new URL(this.url), {
      requestInit: { headers: { authorization: `Bearer ${this.secrets[token]}` } },
    });
    const user = await McpUser.connect(transport, meeting);
    this.#users.push(user);
    return user;
  }

  /** A client that sends what it wants. */
  raw(token: TokenName | undefined = "full"): RawHttpUser {
    return new RawHttpUser(this.url, token === undefined ? undefined : this.secrets[token]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#users.map((user) => user[Symbol.asyncDispose]()));
    await this.#server?.[Symbol.asyncDispose]();
    rmSync(this.place, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Headers that are null are left out. */
export type RawInit = Omit<RequestInit, "headers"> & {
  readonly headers?: Readonly<Record<string, string | null>>;
};

export class RawHttpUser {
  readonly #url: string;
  readonly #secret: string | undefined;
  session: string | undefined;
  #lastId = 0;

  constructor(url: string, secret: string | undefined) {
    this.#url = url;
    this.#secret = secret;
  }

  /** Begins a session, as of 2025. */
  async initialize(): Promise<RawAnswer> {
    const answer = await this.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "raw", version: "1" },
    });
    this.session = answer.headers.get("mcp-session-id") ?? undefined;
    if (this.session !== undefined) await this.notify("notifications/initialized", {});
    return answer;
  }

  request(
    method: string,
    params: object,
    init: RawInit & { readonly id?: unknown } = {},
  ): Promise<RawAnswer> {
    this.#lastId += 1;
    const { id = this.#lastId, ...more } = init;
    return this.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }), more);
  }

  call(name: string, args: object, init: RawInit & { readonly id?: unknown } = {}): Promise<RawAnswer> {
    return this.request("tools/call", { name, arguments: args }, init);
  }

  notify(method: string, params: object): Promise<RawAnswer> {
    return this.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  async send(body: RawInit["body"], init: RawInit = {}): Promise<RawAnswer> {
    const response = await this.open({ method: "POST", body: body ?? null, ...init });
    const text = await response.text();
    const data = /^data: (.+)$/m.exec(text)?.[1] ?? text;
    let message: RawAnswer["message"] = {};
    try {
      message = JSON.parse(data) as RawAnswer["message"];
    } catch {
      // A refusal may be plain text.
    }
    return { status: response.status, headers: response.headers, text, message };
  }

  open({ headers = {}, ...init }: RawInit): Promise<Response> {
    const all: Record<string, string | null> = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      authorization: this.#secret === undefined ? null : `Bearer ${this.#secret}`,
      "mcp-session-id": this.session ?? null,
      ...headers,
    };
    const sent = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null);
    return fetch(this.#url, { ...init, headers: Object.fromEntries(sent) });
  }
}
