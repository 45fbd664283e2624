import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const FILE = /`((?:[a-z0-9-]+\/)*[a-z0-9-]+\.(?:tsx?|mjs))`/g;
const FOLDER =
  /`((?:src|base|bridge|capabilities|cli|client|console|fleet|native|rows|rpc|server|transport)\/(?:[a-z0-9-]+\/)+)`/g;

const paths = ["src", "test", "scripts", "bench", "examples"].flatMap((top) =>
  readdirSync(top, { recursive: true, encoding: "utf8" }).map((path) => `${top}/${path}`),
);

it.each([
  "docs/architecture.md",
  "docs/differences.md",
  "docs/testing.md",
  "CONTRIBUTING.md",
  "RELEASING.md",
])("every source file and folder that %s names is there", (page) => {
  const text = readFileSync(page, "utf8");
  const files = Array.from(text.matchAll(FILE), ([, name]) => name!);
  const folders = Array.from(text.matchAll(FOLDER), ([, name]) => name!);
  const missing = [
    ...files.filter((name) => !paths.some((path) => path === name || path.endsWith(`/${name}`))),
    ...folders.filter(
      (name) => !paths.some((path) => `${path}/`.startsWith(name) || `${path}/`.startsWith(`src/${name}`)),
    ),
  ];
  expect(missing).toEqual([]);
});
