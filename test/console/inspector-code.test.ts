import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpCode, requestCode, requestMessage } from "../../src/console/inspector/copy-code.ts";
import { ConsoleServer } from "./console-server.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TEXT = 'it\'s "quoted" `tick` ${danger} $(x) \\ \\n\n\ttab é 漢 \u{1f600} \u2028 \u202e <b> */ //';
const REQUIRE =
  'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

let server: ConsoleServer;
let upstream: Server;
let directory: string;
/** What the upstream server was asked. */
let asked: { method: string | undefined; header: unknown; body: string } | undefined;

/** Code as it is copied, by the name of its file. */
function programs(): Readonly<Record<string, string>> {
  const target = { url: server.webSocketUrl, needsToken: false };
  const path = join(server.workDirectory, TEXT.replaceAll("/", "|"));
  const { port } = upstream.address() as AddressInfo;
  return {
    write: requestCode(
      {
        method: "fs/writeFile",
        params: { path, dataBase64: Buffer.from(TEXT).toString("base64"), mode: 0o640 },
      },
      target,
    ),
    list: requestCode(
      { method: "fs/readDirectory", params: { path: `file://${server.workDirectory}` } },
      target,
    ),
    status: requestCode({ method: "server/status", params: null }, target),
    start: requestCode(
      {
        method: "process/start",
        params: {
          processId: TEXT,
          argv: ["sh", "-c", "sleep 60", TEXT],
          cwd: `file://${server.workDirectory}`,
          env: Object.fromEntries([
            ["PATH", "/usr/bin:/bin"],
            ["QUOTED", TEXT],
            ["__proto__", "a name as any other"],
            ["not-an-identifier", ""],
          ]),
          tty: true,
          terminalSize: { rows: 30, cols: 100 },
          sandbox: {
            permissions: {
              type: "managed",
              file_system: { type: "restricted", entries: [] },
              network: "restricted",
            },
            windowsSandboxLevel: "disabled",
          },
        },
      },
      target,
    ),
    http: httpCode(
      {
        method: "PUT",
        url: `http://127.0.0.1:${port}/`,
        headers: [["x-quoted", "\"`${x}`'\\"]],
        body: TEXT,
        redirect: "manual",
        timeoutMs: 60_000,
      },
      target,
    ),
    token: requestCode({ method: "environment/info", params: {} }, { ...target, needsToken: true }),
  };
}

beforeAll(async () => {
  upstream = createServer((request, response) => {
    void text(request).then((body) => {
      asked = { method: request.method, header: request.headers["x-quoted"], body };
      response.setHeader("x-answer", "yes").writeHead(418).end(body);
    });
  });
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  server = await ConsoleServer.start();
  directory = await mkdtemp("/var/tmp/exec-server-copied-");
  for (const [name, code] of Object.entries(programs())) await writeFile(join(directory, `${name}.ts`), code);
  const tsconfig = {
    extends: join(ROOT, "tsconfig.base.json"),
    compilerOptions: {
      types: ["node"],
      typeRoots: [join(ROOT, "node_modules/@types")],
      paths: { "exec-server": [join(ROOT, "src/client/index.ts")] },
    },
    include: ["*.ts"],
  };
  await writeFile(join(directory, "tsconfig.json"), JSON.stringify(tsconfig));
  await writeFile(join(directory, "package.json"), '{ "type": "module" }');
});

afterAll(async () => {
  upstream?.close();
  upstream?.closeAllConnections();
  await server?.[Symbol.asyncDispose]();
  if (directory !== undefined) await rm(directory, { recursive: true });
});

it("copied code is TypeScript that compiles with the types of the library", async () => {
  // Beside them one whose parameters do not fit the method, to know that it would be found.
  const target = { url: "ws://127.0.0.1/", needsToken: false };
  await writeFile(
    join(directory, "wrong.ts"),
    requestCode({ method: "fs/chmod", params: { path: "/", mode: "x" } }, target),
  );
  const told = await complaints();
  expect(told).toMatch(/wrong\.ts\(.*TS\d+/);
  const others = told.split("\n").filter((line) => /^\S/.test(line) && !line.includes("wrong.ts("));
  expect(others).toEqual([]);
});

/** What the compiler says about the programs. */
async function complaints(): Promise<string> {
  const compiler = join(ROOT, "node_modules/.bin/tsc");
  return run(compiler, ["-p", directory]).then(
    ({ stdout }) => stdout,
    (error: { readonly stdout: string }) => error.stdout,
  );
}

describe("copied code runs, whatever text is in it", () => {
  const output: Record<string, string> = {};

  beforeAll(async () => {
    const names = ["write", "list", "status", "start", "http"];
    await build({
      entryPoints: names.map((name) => join(directory, `${name}.ts`)),
      tsconfig: join(directory, "tsconfig.json"),
      nodePaths: [join(ROOT, "node_modules")],
      outdir: directory,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      banner: { js: REQUIRE },
      external: ["koffi"],
      logLevel: "error",
    });
    // In their order: what is written is listed afterwards.
    for (const name of names)
      output[name] = (await run(process.execPath, [join(directory, `${name}.mjs`)])).stdout;
  });

  it("a file is written with the bytes that were given, and listed", async () => {
    expect(await readFile(join(server.workDirectory, TEXT.replaceAll("/", "|")), "utf8")).toBe(TEXT);
    expect(output["list"]).toContain("isFile: true");
  });

  it("requests without parameters and with nested ones are answered", () => {
    expect(output["status"]).toContain("runningProcesses");
    expect(output["start"]).toContain("processId: ");
    expect(output["start"]).toContain("漢");
  });

  it("an HTTP request is made, and its response printed", () => {
    expect(asked).toEqual({ method: "PUT", header: "\"`${x}`'\\", body: TEXT });
    expect(output["http"]).toMatch(/^418 /);
    expect(output["http"]).toContain("'x-answer', 'yes'");
    expect(output["http"]).toContain(TEXT);
  });
});

it("a message is copied as it is on the wire", () => {
  expect(JSON.parse(requestMessage({ method: "m", params: { text: TEXT } }))).toEqual({
    id: 1,
    method: "m",
    params: { text: TEXT },
  });
});
