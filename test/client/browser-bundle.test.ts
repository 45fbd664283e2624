import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build, type Metafile } from "esbuild";
import { expect, test } from "vitest";
import { startServer } from "../fault/server-under-test.ts";

const MAX_GZIPPED_BYTES = 60_000;
const RUN_DEADLINE_MS = 30_000;

/** What a page would load: one minified file. Anything of Node in it makes the build fail. */
async function bundleForBrowsers(): Promise<{ code: Uint8Array; metafile: Metafile }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [fileURLToPath(new URL("../../src/client/browser.ts", import.meta.url))],
    bundle: true,
    platform: "browser",
    format: "esm",
    target: "es2022",
    minify: true,
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  return { code: outputFiles[0]!.contents, metafile };
}

test("the client for browsers holds nothing of Node, no schema library, and is small", async () => {
  const { code, metafile } = await bundleForBrowsers();
  const inputs = Object.keys(metafile.inputs);
  expect(inputs.filter((path) => path.includes("node_modules"))).toEqual([]);
  expect(inputs.flatMap((path) => metafile.inputs[path]!.imports.filter(({ external }) => external))).toEqual(
    [],
  );
  const text = Buffer.from(code).toString();
  expect(text).not.toMatch(/["'`]node:/);
  expect(text).not.toMatch(/\brequire\(/);
  // As a property of the global object it may be looked for.
  expect(text).not.toMatch(/(?<!globalThis\.)\bBuffer\b/);
  const gzippedBytes = gzipSync(code).length;
  process.stdout.write(`client for browsers: ${code.length} bytes, ${gzippedBytes} gzipped\n`);
  expect(gzippedBytes).toBeLessThan(MAX_GZIPPED_BYTES);
});

test("the client for browsers runs commands and streams output over the platform's WebSocket", async () => {
  await using server = await startServer();
  const directory = await mkdtemp(join(tmpdir(), "exec-server-browser-"));
  try {
    const { code } = await bundleForBrowsers();
    await writeFile(join(directory, "client.mjs"), code);
    const script = join(directory, "page.mjs");
    await writeFile(
      script,
      `
        // A page has neither; only this platform's own WebSocket needs them.
        const { Buffer, process } = globalThis;
        delete globalThis.Buffer;
        delete globalThis.process;
        const { connect } = await import("./client.mjs");
        Object.assign(globalThis, { Buffer, process });
        const host = await connect(${JSON.stringify(server.url)});
        const { stdout, exitCode } = await host.run(["/bin/sh", "-c", "echo from the bundle; exit 3"]);
        const counted = await host.start(["seq", "1", "300000"]);
        let bytes = 0;
        for await (const chunk of counted.output()) bytes += chunk.bytes.length;
        const talk = await host.start(["/bin/sh", "-c", 'read -r line; echo "got $line"'], { stdin: "pipe" });
        const said = await talk.communicate("hello\\n");
        await host.close();
        console.log(JSON.stringify({ stdout, exitCode, bytes, said: said.stdout }));
      `,
    );
    const { stdout } = await promisify(execFile)(process.execPath, ["--experimental-websocket", script], {
      timeout: RUN_DEADLINE_MS,
    });
    expect(JSON.parse(stdout)).toEqual({
      stdout: "from the bundle\n",
      exitCode: 3,
      bytes: 1_988_895,
      said: "got hello\n",
    });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

test("a token is refused where it cannot be sent", async () => {
  const { connect } = await import("../../src/client/browser.ts");
  const connecting = (async () => connect("ws://127.0.0.1:1", { token: "secret" }))();
  await expect(connecting).rejects.toThrow(
    "a browser sends no headers with a WebSocket, so it cannot show a token: put a proxy in front that adds it",
  );
});
