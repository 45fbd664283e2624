// Makes the text of dist/cli.js: the launcher, and the program in a comment behind it.
import { build } from "esbuild";

/** Messages are English; the other fifty languages would be a quarter of the program. */
const onlyEnglish = {
  name: "only-english",
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    })),
};

async function bundle(entryPoint, options = {}) {
  const { outputFiles } = await build({
    entryPoints: [entryPoint],
    write: false,
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    // A script that does not come from a file of its own has no `import()`.
    supported: { "dynamic-import": false },
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    ...options,
  });
  return outputFiles[0].text.trimEnd();
}

/** Node 20 cannot load TypeScript. */
async function loadProgramText() {
  const text = await bundle("src/cli/launcher/program-text.ts", { format: "esm" });
  return import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
}

export async function buildProgram(version) {
  const { joinProgram } = await loadProgramText();
  const launcher = await bundle("src/cli/launcher/launch.ts");
  const program = await bundle("src/cli/main.ts", {
    external: ["koffi", "@xterm/headless"],
    plugins: [onlyEnglish],
    define: { EXEC_SERVER_VERSION: JSON.stringify(version), "import.meta.url": "importMetaUrl" },
  });
  // The launcher also runs as an ES module, which has no `require`.
  return joinProgram(
    `#!/usr/bin/env node\n(require=>{${launcher}\n})(process.getBuiltinModule);`,
    `(function(require,importMetaUrl){${program}\n})`,
  );
}
