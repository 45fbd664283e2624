import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installMcpTools, MCP_TOOLS } from "../../../scripts/install-mcp-tools.mjs";
import { SERVER_PATH } from "../../conformance/server-process.ts";
import { pollUntil } from "../../fault/deadline.ts";
import { builtCli } from "../../fault/server-under-test.ts";
import { McpHttpScene } from "../mcp-http-scene.ts";
import { serveConformance } from "./conformance-server.ts";

const INSTALL_MS = 600_000;

const FIXTURE = "it calls a tool that only a server made for these tests has";
const NO_RESOURCES = "it has tools only, no resources";
const NO_PROMPTS = "it has tools only, no prompts";

/** Scenarios that fail on the transport, and why. */
const TRANSPORT_FAILURES: Readonly<Record<string, string>> = {
  "server-sse-polling":
    "streams have no event ids: whoever loses one asks again, with list_processes and read_output",
};

/** The same with the product. */
const EXPECTED_FAILURES: Readonly<Record<string, string>> = {
  ...TRANSPORT_FAILURES,
  "logging-set-level": "it has no logging: its notifications would only repeat what calls return",
  "completion-complete": "it has no prompts and no resources, so nothing to complete",
  "tools-call-image": FIXTURE,
  "tools-call-audio": FIXTURE,
  "tools-call-embedded-resource": FIXTURE,
  "tools-call-mixed-content": FIXTURE,
  "tools-call-with-logging": FIXTURE,
  "tools-call-with-progress": FIXTURE,
  "tools-call-sampling": FIXTURE,
  "tools-call-elicitation": FIXTURE,
  "json-schema-2020-12": FIXTURE,
  "elicitation-sep1034-defaults": FIXTURE,
  "elicitation-sep1330-enums": FIXTURE,
  "resources-list": NO_RESOURCES,
  "resources-read-text": NO_RESOURCES,
  "resources-read-binary": NO_RESOURCES,
  "resources-templates-read": NO_RESOURCES,
  "resources-subscribe": NO_RESOURCES,
  "resources-unsubscribe": NO_RESOURCES,
  "prompts-list": NO_PROMPTS,
  "prompts-get-simple": NO_PROMPTS,
  "prompts-get-with-args": NO_PROMPTS,
  "prompts-get-embedded-resource": NO_PROMPTS,
  "prompts-get-with-image": NO_PROMPTS,
};

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

describe.skipIf(process.env["MCP_TOOLS"] !== "1")("the public tools", () => {
  const scene = new McpHttpScene();
  const directory = mkdtempSync(join(tmpdir(), "es-mcp-tools-"));
  let node: string;
  beforeAll(async () => {
    node = installMcpTools();
    await scene.serve(["--mcp-network"]);
  }, INSTALL_MS);
  afterAll(async () => {
    await scene[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  const run = (file: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ran> =>
    new Promise((resolve) => {
      const options = { env: { PATH: SERVER_PATH, HOME: directory, ...env }, maxBuffer: 64 * 1024 * 1024 };
      execFile(node, [join(MCP_TOOLS, "node_modules", file), ...args], options, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : 1, output: `${stdout}\n${stderr}` }),
      );
    });

  const conformance = (url: string, failures: readonly string[]): Promise<Ran> => {
    const baseline = join(directory, "expected.yml");
    writeFileSync(baseline, JSON.stringify({ server: failures }));
    return run("@modelcontextprotocol/conformance/dist/index.js", [
      "server",
      `--url=${url}`,
      "--suite=all",
      `--expected-failures=${baseline}`,
      `--output-dir=${join(directory, "results")}`,
    ]);
  };

  it("the conformance tests pass on the transport", async () => {
    const server = await serveConformance();
    try {
      const { code, output } = await conformance(
        server.url.replace("ws:", "http:") + "/mcp",
        Object.keys(TRANSPORT_FAILURES),
      );
      process.stdout.write(output.slice(output.indexOf("SUMMARY")));
      expect({ code, output }).toMatchObject({ code: 0 });
    } finally {
      await server.close();
    }
  });

  it("the conformance tests pass on the product, but for those that cannot", async () => {
    // The tool has no option for headers.
    const proxy = createServer((asked, answer) => {
      const headers = { ...asked.headers, authorization: `Bearer ${scene.secrets.full}` };
      const forwarded = httpRequest(scene.url, { method: asked.method ?? "GET", headers }, (response) => {
        answer.writeHead(response.statusCode ?? 0, response.headers);
        response.pipe(answer);
      });
      answer.once("close", () => forwarded.destroy());
      forwarded.on("error", () => answer.destroy());
      asked.pipe(forwarded);
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    try {
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
      const { code, output } = await conformance(url, Object.keys(EXPECTED_FAILURES));
      process.stdout.write(output.slice(output.indexOf("SUMMARY")));
      expect({ code, output }).toMatchObject({ code: 0 });
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  const ways = (): Readonly<Record<string, readonly string[]>> => ({
    stdio: [process.execPath, builtCli, "mcp", "--url", "stdio", "--root", scene.root],
    HTTP: [scene.url, "--transport", "http", "--header", `Authorization: Bearer ${scene.secrets.full}`],
  });

  it.each(["stdio", "HTTP"])("the inspector lists and calls tools over %s", async (way) => {
    const inspect = (...args: readonly string[]): Promise<Ran> =>
      run("@modelcontextprotocol/inspector/clients/launcher/build/index.js", [
        "--cli",
        ...ways()[way]!,
        ...args,
      ]);
    const listed = await inspect("--method", "tools/list");
    expect(listed.output).toContain('"exec_command"');
    const called = await inspect(
      "--method",
      "tools/call",
      "--tool-name",
      "exec_command",
      "--tool-arg",
      "cmd=echo inspected",
    );
    expect(called).toMatchObject({ code: 0, output: expect.stringContaining("inspected\\n") });
  });

  it.each(["stdio", "HTTP"])("a client of the first SDK works over %s", async (way) => {
    const sdk = (path: string): Promise<Record<string, new (...args: unknown[]) => never>> =>
      import(
        pathToFileURL(join(MCP_TOOLS, "node_modules/@modelcontextprotocol/sdk/dist/esm/client", path)).href
      ) as Promise<Record<string, new (...args: unknown[]) => never>>;
    const { Client } = await sdk("index.js");
    const { StdioClientTransport } = await sdk("stdio.js");
    const { StreamableHTTPClientTransport } = await sdk("streamableHttp.js");
    const client = new Client!({ name: "v1", version: "1" }) as FirstClient;
    const [command, ...args] = ways()[way]!;
    const headers = { authorization: `Bearer ${scene.secrets.full}` };
    await client.connect(
      way === "stdio"
        ? new StdioClientTransport!({ command, args, env: { PATH: SERVER_PATH } })
        : new StreamableHTTPClientTransport!(new URL(scene.url), { requestInit: { headers } }),
    );
    try {
      const call = async (name: string, given: object): Promise<string> => {
        const { content, isError } = await client.callTool({ name, arguments: given });
        expect({ name, isError: isError ?? false, content }).toMatchObject({ isError: false });
        return content[0]?.text ?? "";
      };
      const offered = (await client.listTools()).tools.map(({ name }) => name);
      const used = {
        exec_command: { cmd: "read it; echo $it; read more", tty: true, yield_time_ms: 250, login: false },
        write_stdin: { session_id: 1, chars: "words\n" },
        wait_for: { session_id: 1, timeout_ms: 100 },
        read_output: { session_id: 1 },
        list_processes: {},
        kill_process: { session_id: 1 },
        write_file: { path: "v1.txt", content: "one\n" },
        edit_file: { path: "v1.txt", old_string: "one", new_string: "two" },
        read_file: { path: "v1.txt" },
        list_directory: {},
        search_files: { pattern: "^two" },
      };
      for (const [name, given] of Object.entries(used)) await call(name, given);
      expect(offered.filter((name) => !(name in used))).toEqual(way === "stdio" ? [] : ["http_request"]);
      const cancelling = new AbortController();
      const slow = client.callTool({ name: "exec_command", arguments: { cmd: "sleep 300" } }, undefined, {
        signal: cancelling.signal,
      });
      setTimeout(() => cancelling.abort(), 500);
      await expect(slow).rejects.toThrow();
      await pollUntil(
        async () => !(await call("list_processes", {})).includes("running: sleep 300"),
        60_000,
        () => "the end of the command",
      );
    } finally {
      await client.close();
    }
  });
});

interface FirstClient {
  connect(transport: unknown): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(
    call: object,
    schema?: undefined,
    options?: { readonly signal: AbortSignal },
  ): Promise<{ readonly content: readonly { readonly text?: string }[]; readonly isError?: boolean }>;
  close(): Promise<void>;
}
