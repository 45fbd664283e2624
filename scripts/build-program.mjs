// Bundles the command line: the launcher dist/cli.js, and the programs that it runs: dist/program.js and dist/client.js.
import { build } from "esbuild";
import { lateParts, WITHOUT_NATIVE_PARTS } from "./parts.mjs";

/** Error messages are English; the other fifty languages would be a quarter of the program. */
export const onlyEnglish = {
  name: "only-english",
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    })),
};

/**
 * Node modules that a server needs late or never, each worth a few milliseconds of its start. They are loaded on first
 * use.
 */
const LATE_MODULES = [
  "child_process",
  "fs/promises",
  "http",
  "https",
  "module",
  "timers/promises",
  "tls",
  "tty",
  "zlib",
];

const lateModules = {
  name: "late-modules",
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: new RegExp(`^(?:node:)?(?:${LATE_MODULES.join("|")})$`) }, ({ path, namespace }) =>
      namespace === "late" ? undefined : { path: path.replace("node:", ""), namespace: "late" },
    );
    onLoad({ filter: /^/, namespace: "late" }, async ({ path }) => ({
      contents: `let loaded; const load = () => (loaded ??= require("node:${path}"));
        module.exports = {${Object.keys((await import(`node:${path}`)).default)
          .map((name) => `get ${name}() { return load().${name}; }`)
          .join()}};`,
    }));
  },
};

async function bundle(entryPoint, options) {
  const { outputFiles, metafile } = await bundleFiles(entryPoint, options);
  return { text: outputFiles[0].text, metafile };
}

function bundleFiles(entryPoint, options = {}) {
  return build({
    entryPoints: [entryPoint],
    write: false,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    // A script that does not come from its own file has no `import()`.
    supported: { "dynamic-import": false },
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    metafile: true,
    ...options,
  });
}

/** A server loads this file only if it serves the Model Context Protocol, whose tools are a client of it. */
const MCP_FILE = "mcp-http.js";
const lateMcp = {
  name: "late-mcp",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/mcp\/serve-http\.ts$/, namespace: "file" }, ({ kind }) =>
      kind === "dynamic-import" ? { path: `./${MCP_FILE}`, external: true } : undefined,
    ),
};

/** A native library cannot be part of a bundle. */
const withParts = { external: ["koffi"], plugins: [onlyEnglish, lateModules, lateParts, lateMcp] };

/** dist/cli.js: its text, and what esbuild says of its inputs. */
export const buildLauncher = () =>
  bundle("src/cli/launcher/launch.ts", {
    banner: { js: "#!/usr/bin/env node" },
    define: { "import.meta.dirname": "__dirname" },
  });

/** dist/sandbox-helper.js, likewise. */
export const buildSandboxHelper = () =>
  bundle("src/cli/launcher/sandbox-helper.ts", {
    // In its sandbox there is nothing else, and it makes no requests.
    external: ["koffi", "undici"],
    plugins: [onlyEnglish, lateModules],
    define: { "import.meta.url": "__filename" },
  });

/** dist/receive.js, likewise. It is sent as text in a line of ASCII. */
export const buildReceiver = () =>
  bundle("src/cli/launcher/receive.ts", { minify: true, charset: "ascii", format: "iife" });

/** The main program of a single executable, whose bundle has this name. */
export const buildOneFile = (name) =>
  bundle("src/cli/launcher/one-file.ts", {
    define: { "import.meta.url": "__filename", BUNDLE_NAME: JSON.stringify(name) },
  });

const definitions = (version) => ({
  EXEC_SERVER_VERSION: JSON.stringify(version),
  // A path works as well where it is used.
  "import.meta.url": "__filename",
  ...WITHOUT_NATIVE_PARTS,
});

const programOptions = (version) => ({ ...withParts, define: definitions(version) });

/** dist/program.js, likewise. Its text must be ASCII, which is what esbuild writes by default. */
export const buildProgram = (version) => bundle("src/cli/serve/main.ts", programOptions(version));

/** The same with its source map, for profiles. */
export async function mapProgram(version) {
  const mapped = { ...programOptions(version), sourcemap: "external", outfile: "program.js" };
  const { outputFiles: files } = await bundleFiles("src/cli/serve/main.ts", mapped);
  const fileOf = (ending) => files.find(({ path }) => path.endsWith(ending)).text;
  return { text: fileOf(".js"), map: fileOf(".map") };
}

/** dist/user-server.js, likewise. */
export const buildUserServer = (version) =>
  bundle("src/cli/launcher/user-server.ts", programOptions(version));

/** dist/spool-thread.js, likewise. */
export const buildSpoolThread = () => bundle("src/cli/launcher/spool-thread.ts");

/** dist/mcp-http.js, likewise. */
export const buildMcpHttp = (version) => bundle("src/mcp/serve-http.ts", programOptions(version));

/** dist/client.js, likewise. */
export const buildClient = (version) => bundle("src/cli/client/main.ts", programOptions(version));
