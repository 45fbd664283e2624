import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packageRoot, startServer } from "../fault/server-under-test.ts";

// The package as npm would publish it: packed from unbuilt sources, and installed into an empty folder without optional
// dependencies.

/** A build and an installation, on a machine that does something else. */
const DEADLINE_MS = 300_000;
const MAX_PACKED_BYTES = 3.5 * 1024 * 1024;
const MAX_INSTALLED_BYTES = 12_000_000;
const NOT_SOURCES = [".cache", ".git", "dist", "node_modules"];
const tool = (name: string): string => join(packageRoot, "node_modules", ".bin", name);

let directory: string;
let tarball: string;
let packedFiles: string[];
let app: string;

async function run(cwd: string, command: string, ...args: string[]): Promise<string> {
  const done = promisify(execFile)(command, args, { cwd, timeout: DEADLINE_MS });
  const { stdout } = await done.catch((error: { message: string; stdout: string }) => {
    throw new Error(`${error.message}\n${error.stdout}`);
  });
  return stdout;
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "exec-server-package-"));
  const sources = join(directory, "sources");
  await cp(packageRoot, sources, {
    recursive: true,
    filter: (path) => !NOT_SOURCES.some((name) => path === join(packageRoot, name)),
  });
  await symlink(join(packageRoot, "node_modules"), join(sources, "node_modules"));
  const packed = await run(sources, "npm", "pack", "--json", "--silent", "--pack-destination", directory);
  const [{ filename, files }] = JSON.parse(packed.slice(packed.indexOf("[\n"))) as [
    { filename: string; files: { path: string }[] },
  ];
  tarball = join(directory, filename);
  packedFiles = files.map(({ path }) => path);
  app = join(directory, "app");
  await mkdir(app);
  await writeFile(join(app, "package.json"), '{ "private": true, "type": "module" }');
  await run(app, "npm", "install", "--omit=optional", "--prefer-offline", "--no-audit", "--no-fund", tarball);
}, DEADLINE_MS);

afterAll(() => rm(directory, { recursive: true, force: true }));

test("holds the built library, the program, docs and examples, and nothing that only development needs", () => {
  for (const file of [
    "dist/cli.js",
    "dist/program.js",
    "dist/client.js",
    "dist/sandbox-helper.js",
    "dist/spool-thread.js",
    "dist/user-server.js",
    "dist/mcp-http.js",
    "dist/lib/client/index.js",
    "dist/lib/client/browser.d.ts",
    "dist/licenses.txt",
    "dist/console/licenses.txt",
    "docs/guide/client.md",
    "CONTRIBUTING.md",
    "LICENSE",
  ])
    expect(packedFiles).toContain(file);
  expect(packedFiles.filter((path) => /^examples\/.*\.ts$/.test(path))).not.toEqual([]);
  expect(
    packedFiles.filter((path) => /^(?:src|test|scripts|bench)\/|^dist\/cache|\.test\.|\.map$/.test(path)),
  ).toEqual([]);
});

test("is small, packed and installed, and installs no other package", async () => {
  expect((await stat(tarball)).size).toBeLessThan(MAX_PACKED_BYTES);
  const modules = join(app, "node_modules");
  expect((await readdir(modules)).filter((name) => !name.startsWith("."))).toEqual(["exec-server"]);
  const entries = await readdir(modules, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size);
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  expect(total).toBeLessThan(MAX_INSTALLED_BYTES);
});

test("has the licences of the packages that it bundles", async () => {
  const read = (path: string) => readFile(join(app, "node_modules/exec-server/dist", path), "utf8");
  const bundled = await read("licenses.txt");
  for (const name of ["zod", "ws", "undici", "@nats-io/nats-core", "tweetnacl", "prom-client", "bintrees"])
    expect(bundled).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(.+\\)$`, "m"));
  expect(await read("console/licenses.txt")).toContain("Permission is hereby granted");
});

test("runs with npm exec from an empty cache, without a warning about the version of Node", async () => {
  const empty = join(directory, "empty");
  await mkdir(empty);
  const { version } = JSON.parse(await readFile(join(packageRoot, "package.json"), "utf8")) as {
    version: string;
  };
  const npm = [
    "exec",
    "--yes",
    "--omit=optional",
    `--cache=${join(directory, "cache")}`,
    `--package=${tarball}`,
  ];
  const { stdout, stderr } = await promisify(execFile)("npm", [...npm, "--", "exec-server", "--version"], {
    cwd: empty,
    timeout: DEADLINE_MS,
  });
  expect(stdout).toBe(`exec-server ${version}\n`);
  expect(stderr).not.toContain("EBADENGINE");
});

test("satisfies publint and arethetypeswrong", async () => {
  expect(await run(directory, tool("publint"), "run", tarball, "--strict")).toContain("All good!");
  // Fails through its exit status. CommonJS programs must use `import()`, which is not a fault of the package.
  expect(await run(directory, tool("attw"), tarball, "--profile", "esm-only")).toContain(
    "exec-server/protocol",
  );
});

test("runs a command on a server, without the optional dependency", async () => {
  await expect(readFile(join(app, "node_modules/koffi/package.json"))).rejects.toThrow("ENOENT");
  await using server = await startServer();
  await writeFile(
    join(app, "run.js"),
    `import { connect } from "exec-server";
     const host = await connect(${JSON.stringify(server.url)});
     console.log((await host.run(["echo", "from the package"])).stdout.trim());
     await host.close();`,
  );
  expect(await run(app, process.execPath, "run.js")).toBe("from the package\n");
});

test("runs the program of the README", async () => {
  await using server = await startServer();
  const readme = await readFile(join(packageRoot, "README.md"), "utf8");
  const program = /^```js\n(.*?)^```$/ms.exec(readme)![1]!;
  expect(program).toContain('"ws://127.0.0.1:7070"');
  await writeFile(join(app, "readme.js"), program.replace("ws://127.0.0.1:7070", server.url));
  const output = await run(app, process.execPath, "readme.js");
  expect(output).toMatch(/^0 Linux\n\ncompiling\ndone\n\{\s*exitCode: 0/);
  expect(output).toContain("{ name: 'etc', kind: 'directory' }");
});

test("says in one sentence that it cannot serve without the optional dependency", async () => {
  const sentence = "exec-server cannot serve without its optional dependency koffi: ";
  const program = join(app, "node_modules/.bin/exec-server");
  const failed = promisify(execFile)(program, [], { timeout: DEADLINE_MS });
  await expect(failed).rejects.toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(new RegExp(`^Error: ${sentence}.*\n$`)) as string,
  });
  await writeFile(
    join(app, "serve.js"),
    'import { createServer } from "exec-server/server"; createServer();',
  );
  await expect(run(app, process.execPath, "serve.js")).rejects.toThrow(sentence);
});

describe("the published types", () => {
  const compile = async (name: string, text: string, options: object): Promise<string> => {
    await writeFile(join(app, `${name}.ts`), text);
    await writeFile(
      join(app, `tsconfig.${name}.json`),
      JSON.stringify({
        compilerOptions: { target: "es2022", strict: true, noEmit: true, skipLibCheck: false, ...options },
        files: [`${name}.ts`],
      }),
    );
    return run(app, tool("tsc"), "-p", `tsconfig.${name}.json`);
  };
  const client = `
    import { connect, type Host } from "exec-server";
    export const host: Host = await connect("ws://127.0.0.1:1");
    const { stdout } = await host.run(["true"]);
    export const text: string = stdout;
    // @ts-expect-error A number is no exit text: the types are really there.
    export const wrong: number = stdout;
  `;

  test.each(["nodenext", "bundler"])(
    "of the client compile with the types of a browser alone (%s)",
    async (resolution) => {
      await compile(`client-${resolution}`, client, {
        module: resolution === "bundler" ? "preserve" : resolution,
        moduleResolution: resolution,
        lib: ["es2023", "esnext.disposable", "dom"],
        types: [],
      });
    },
  );

  test("of every entry compile with those of Node and nothing else", async () => {
    await mkdir(join(app, "node_modules", "@types"), { recursive: true });
    for (const name of ["@types/node", "undici-types"])
      await cp(join(packageRoot, "node_modules", name), join(app, "node_modules", name), { recursive: true });
    const text = `
      import { connect, connectLocal } from "exec-server";
      import type { Params, Result } from "exec-server/protocol";
      import { createServer, LIMITS } from "exec-server/server";
      import { connectWebSocket, JsonLinesTransport, listenWebSocket } from "exec-server/transport";
      export const server = createServer({ environment: process.env });
      export const listener = await listenWebSocket({ host: "127.0.0.1", port: 0, accept: (each) => server.accept(each) });
      export const host = await connect(await connectWebSocket(listener.url));
      export const start: Params<"process/start"> = { processId: "1", argv: ["true"], cwd: "file:///", env: {}, tty: false };
      export const end: Result<"process/terminate"> = { running: true };
      export { connectLocal, JsonLinesTransport, LIMITS };
    `;
    await compile("all", text, {
      module: "nodenext",
      lib: ["es2023", "esnext.disposable"],
      types: ["node"],
    });
    const program = /^```js\n(.*?)^```$/ms.exec(await readFile(join(packageRoot, "README.md"), "utf8"))![1]!;
    await compile("readme", program, {
      module: "nodenext",
      lib: ["es2023", "esnext.disposable"],
      types: ["node"],
    });
  });
});
