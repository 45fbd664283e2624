import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { withDeadline } from "../fault/deadline.ts";
import { bundleForBrowsers } from "../fixtures/browser-bundle.ts";
import { startServer } from "../fault/server-under-test.ts";
import { SilentProxy } from "./silent-proxy.ts";

const MAX_GZIPPED_BYTES = 60_000;
const RUN_DEADLINE_MS = 60_000;

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

test("a page notices a silent network within 10 s and resumes where it stopped", async () => {
  await using server = await startServer();
  await using proxy = await SilentProxy.open(server.port);
  const directory = await mkdtemp(join(tmpdir(), "exec-server-browser-"));
  try {
    const { code } = await bundleForBrowsers();
    await writeFile(join(directory, "client.mjs"), code);
    const script = join(directory, "page.mjs");
    await writeFile(
      script,
      `
        import { connect } from "./client.mjs";
        const host = await connect(${JSON.stringify(proxy.url)});
        const counting = await host.start(["/bin/sh", "-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 1; done; exit 4"]);
        let text = "";
        // Time in which this program could run: a machine that stands still counts as a tenth of a second.
        let ranMs = 0;
        let lookedAt = performance.now();
        const clock = setInterval(() => {
          const now = performance.now();
          ranMs += Math.min(now - lookedAt, 100);
          lookedAt = now;
        }, 20);
        let noticedMs;
        host.onStateChange((state) => {
          if (state === "recovering") noticedMs = ranMs;
        });
        console.log("ready");
        for await (const { bytes } of counting.output()) text += new TextDecoder().decode(bytes);
        const { exitCode } = await counting.exited;
        const { state } = host;
        await host.close();
        clearInterval(clock);
        console.log(JSON.stringify({ text, exitCode, state, noticedMs }));
      `,
    );
    const page = spawn(process.execPath, ["--experimental-websocket", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      const lines = createInterface({ input: page.stdout })[Symbol.asyncIterator]();
      const line = async (what: string): Promise<string> =>
        (await withDeadline(lines.next(), RUN_DEADLINE_MS, () => what)).value as string;
      expect(await line("the page")).toBe("ready");
      proxy.silence();
      const { noticedMs, ...rest } = JSON.parse(await line("the end of the page")) as { noticedMs: number };
      expect(rest).toEqual({ text: "1\n2\n3\n4\n5\n6\n", exitCode: 4, state: "connected" });
      expect(noticedMs).toBeLessThan(10_000);
      expect(proxy.connections).toBe(2);
    } finally {
      page.kill("SIGKILL");
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
