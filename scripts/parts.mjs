// Packages that are files of their own, dist/parts/NAME.js, shared by the programs and the library: most are loaded late or
// never.
import { build } from "esbuild";

/** What each file holds, by the names under which it is imported. With the names that are used, the rest is left out. */
const LATE_PARTS = {
  ajv: ["ajv", "ajv/dist/2019.js", "ajv/dist/2020.js"],
  jose: ["jose"],
  mcp: {
    "@modelcontextprotocol/server": [
      "Server",
      "WebStandardStreamableHTTPServerTransport",
      "createMcpHandler",
      "inputRequired",
      "inputResponse",
      "isLegacyRequest",
      "parseJSONRPCMessage",
    ],
    "@modelcontextprotocol/server/stdio": ["serveStdio"],
  },
  "ml-kem": ["@noble/post-quantum/ml-kem.js"],
  nats: ["@nats-io/transport-node"],
  "prom-client": ["prom-client"],
  undici: [
    "undici/lib/dispatcher/client.js",
    "undici/lib/dispatcher/agent.js",
    "undici/lib/api/api-request.js",
  ],
  "xterm-headless": ["@xterm/headless", "@xterm/addon-unicode11/lib/addon-unicode11.js"],
  yaml: ["yaml"],
};
/** The programs hold `ws`, which they need at once. In an ES module its `require` of Node's modules would fail. */
const PARTS = { ...LATE_PARTS, ws: ["ws"] };

/** Builds every part. Nothing of one runs before it is asked for. */
export async function buildParts(outdir) {
  const builds = Object.entries(PARTS).map(([name, paths]) =>
    build({
      stdin: { contents: contentsOf(paths), resolveDir: "." },
      outfile: `${outdir}/${name}.js`,
      bundle: true,
      platform: "node",
      target: "node20",
      format: "cjs",
      minify: true,
      // Errors are named after their classes.
      keepNames: true,
      legalComments: "none",
      metafile: true,
      define: WITHOUT_NATIVE_PARTS,
      alias: { "@modelcontextprotocol/server/_shims": "./scripts/mcp-shims.mjs" },
    }),
  );
  return (await Promise.all(builds)).map(({ metafile }) => metafile);
}

const contentsOf = (paths) =>
  Array.isArray(paths)
    ? `module.exports = {${paths.map(getter).join()}};`
    : Object.entries(paths).map(namedExport).join("\n");

const getter = (path) => `get "${path}"() { return require("${path}"); }`;

const namedExport = ([path, names], index) =>
  `import { ${names.join()} } from "${path}"; const part${index} = { ${names.join()} }; export { part${index} as "${path}" };`;

const pathsOf = (paths) => (Array.isArray(paths) ? paths : Object.keys(paths));

/** `ws` would look for them. */
export const WITHOUT_NATIVE_PARTS = {
  "process.env.WS_NO_BUFFER_UTIL": '"1"',
  "process.env.WS_NO_UTF_8_VALIDATE": '"1"',
};

/** For a program beside the directory of the parts. */
export const lateParts = usingParts(
  LATE_PARTS,
  (part, path) => `module.exports = require("./parts/${part}.js")["${path}"];`,
);

/** For ES modules two directories below. */
export const allParts = usingParts(PARTS, async (part, path) => {
  const names = Object.keys(await import(path)).filter((name) => /^(?!default$)\w+$/.test(name));
  return `import part from "../../parts/${part}.js"; const loaded = part["${path}"];
    export default loaded; export const {${names.join()}} = loaded;`;
});

function usingParts(parts, contentsFor) {
  const partOf = new Map(
    Object.entries(parts).flatMap(([part, paths]) => pathsOf(paths).map((path) => [path, part])),
  );
  return {
    name: "parts",
    setup: ({ onLoad, onResolve }) => {
      onResolve({ filter: /^[^.]/ }, ({ path }) =>
        partOf.has(path) ? { path, namespace: "part" } : undefined,
      );
      onResolve({ filter: /^\.{1,2}\//, namespace: "part" }, ({ path }) => ({ path, external: true }));
      onLoad({ filter: /^/, namespace: "part" }, async ({ path }) => ({
        contents: await contentsFor(partOf.get(path), path),
      }));
    },
  };
}
