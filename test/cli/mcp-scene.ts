import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Client, type ClientOptions, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { Person } from "./person.ts";

/** How a client meets its server. */
export interface McpMeeting {
  readonly options?: ClientOptions;
  /** Called before it connects. */
  readonly prepare?: (client: Client) => void;
}

/** The same, and how it starts it. */
export interface McpStart extends McpMeeting {
  /** Arguments of `exec-server mcp`. */
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What a tool has answered. */
export interface Answer {
  readonly text: string;
  readonly isError: boolean;
  readonly structured: Readonly<Record<string, unknown>>;
  readonly content: readonly { readonly type: string }[];
}

/** A client of the Model Context Protocol. */
export class McpUser implements AsyncDisposable {
  readonly client: Client;

  /** Starts `exec-server mcp`. */
  static async start(person: Person, { args = [], cwd, env, ...meeting }: McpStart): Promise<McpUser> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [builtCli, "mcp", ...args],
      env: { PATH: SERVER_PATH, ...person.env, ...env },
      stderr: "pipe",
      cwd: cwd ?? person.home,
    });
    return await McpUser.connect(transport, meeting);
  }

  static async connect(transport: Transport, { options, prepare }: McpMeeting): Promise<McpUser> {
    const client = new Client({ name: "test", version: "1" }, options);
    prepare?.(client);
    await client.connect(transport);
    return new McpUser(client);
  }

  private constructor(client: Client) {
    this.client = client;
  }

  async call(
    name: string,
    args: object = {},
    options: { readonly signal?: AbortSignal } = {},
  ): Promise<Answer> {
    const result = await this.client.callTool(
      { name, arguments: { ...args } },
      { timeout: 100_000, ...options },
    );
    const { content, isError = false, structuredContent = {} } = result;
    const [first] = content;
    return {
      text: first?.type === "text" ? first.text : "",
      isError,
      structured: structuredContent as Answer["structured"],
      content,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

/** A person, and a directory that a sandbox protects: it is not among those for temporary files. */
export class McpScene implements AsyncDisposable {
  readonly person = new Person();
  readonly place = realpathSync(mkdtempSync("/var/tmp/es-mcp-"));
  readonly root = join(this.place, "root");
  readonly #users: McpUser[] = [];

  constructor() {
    mkdirSync(this.root);
  }

  async start(start: McpStart = {}): Promise<McpUser> {
    const user = await McpUser.start(this.person, { cwd: this.root, ...start });
    this.#users.push(user);
    return user;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#users.map((user) => user[Symbol.asyncDispose]()));
    await this.person[Symbol.asyncDispose]();
    rmSync(this.place, { recursive: true, force: true, maxRetries: 5 });
  }
}
