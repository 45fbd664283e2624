import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { SERVER_PATH } from "../conformance/server-process.ts";
import { builtCli } from "../fault/server-under-test.ts";
import { Person } from "./person.ts";

/** How a client starts and meets the program. */
export interface McpStart {
  /** Arguments of `exec-server mcp`. */
  readonly args?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly options?: ClientOptions;
  /** Called before it connects. */
  readonly prepare?: (client: Client) => void;
}

/** What a tool has answered. */
export interface Answer {
  readonly text: string;
  readonly isError: boolean;
  readonly structured: Readonly<Record<string, unknown>>;
  readonly content: readonly { readonly type: string }[];
}

/** A client of the Model Context Protocol that has started `exec-server mcp`. */
export class McpUser implements AsyncDisposable {
  readonly client: Client;
  readonly transport: StdioClientTransport;

  static async start(person: Person, { args = [], cwd, env, options, prepare }: McpStart): Promise<McpUser> {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [builtCli, "mcp", ...args],
      env: { PATH: SERVER_PATH, ...person.env, ...env },
      stderr: "pipe",
      cwd: cwd ?? person.home,
    });
    const client = new Client({ name: "test", version: "1" }, options);
    prepare?.(client);
    await client.connect(transport);
    return new McpUser(client, transport);
  }

  private constructor(client: Client, transport: StdioClientTransport) {
    this.client = client;
    this.transport = transport;
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
