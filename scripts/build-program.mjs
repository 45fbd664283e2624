// Bundles the command line: the launcher dist/cli.js, and the programs that it runs: dist/program.js and dist/client.js.
import { build } from "esbuild";

/** Error messages are English; the other fifty languages would be a quarter of the program. */
const onlyEnglish = {
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
  const [file] = await bundleFiles(entryPoint, options);
  return file.text;
}

async function bundleFiles(entryPoint, options = {}) {
  const { outputFiles } = await build({
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
    ...options,
  });
  return outputFiles;
}

/** The text of dist/cli.js. */
export const buildLauncher = () =>
  bundle("src/cli/launcher/launch.ts", {
    banner: { js: "#!/usr/bin/env node" },
    define: { "import.meta.dirname": "__dirname" },
  });

/** The text of dist/sandbox-helper.js. */
export const buildSandboxHelper = () =>
  bundle("src/cli/sandbox-helper/main.ts", {
    external: ["koffi", "undici"],
    plugins: [onlyEnglish, lateModules],
    define: { "import.meta.url": "__filename" },
  });

const definitions = (version) => ({
  EXEC_SERVER_VERSION: JSON.stringify(version),
  // A path works as well where it is used.
  "import.meta.url": "__filename",
  // Native parts that `ws` would look for.
  "process.env.WS_NO_BUFFER_UTIL": '"1"',
  "process.env.WS_NO_UTF_8_VALIDATE": '"1"',
});

const programOptions = (version) => ({
  external: ["koffi", "@nats-io/transport-node", "@xterm/headless", "prom-client", "undici"],
  plugins: [onlyEnglish, lateModules],
  define: definitions(version),
});

/** The text of dist/program.js. It must be ASCII, which is what esbuild writes by default. */
export const buildProgram = (version) => bundle("src/cli/main.ts", programOptions(version));

/** The same with its source map, for profiles. */
export async function mapProgram(version) {
  const mapped = { ...programOptions(version), sourcemap: "external", outfile: "program.js" };
  const files = await bundleFiles("src/cli/main.ts", mapped);
  const fileOf = (ending) => files.find(({ path }) => path.endsWith(ending)).text;
  return { text: fileOf(".js"), map: fileOf(".map") };
}

/** The text of dist/user-server.js. */
export const buildUserServer = (version) =>
  bundle("src/cli/user-server/main.ts", {
    external: ["koffi", "@nats-io/transport-node", "@xterm/headless", "prom-client", "undici"],
    plugins: [onlyEnglish, lateModules],
    define: definitions(version),
  });

/** The text of dist/client.js, likewise. */
export const buildClient = (version) =>
  bundle("src/cli/client/main.ts", {
    external: ["@nats-io/transport-node", "undici"],
    plugins: [onlyEnglish, lateModules],
    define: definitions(version),
  });
