import { readdir } from "node:fs/promises";
import { build } from "esbuild";

const root = new URL("..", import.meta.url);

/** Node 20 cannot load TypeScript. Every file of the layer is a namespace, so that a schema can be found by name. */
export async function loadProtocol() {
  const files = await readdir(new URL("src/protocol/", root));
  const names = files
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => file.slice(0, -3));
  const contents = names.map(
    (name) => `export * as ${name.replaceAll("-", "_")} from "./src/protocol/${name}.ts";`,
  );
  const { outputFiles } = await build({
    stdin: { contents: contents.join("\n"), resolveDir: root.pathname },
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
  });
  const source = Buffer.from(outputFiles[0].contents).toString("base64");
  return import(`data:text/javascript;base64,${source}`);
}
