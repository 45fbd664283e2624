// Rejects circular imports in src/, including type imports: what two files share belongs in a file below both.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = fileURLToPath(new URL("../src", import.meta.url));
const IMPORT = /(?:^(?:import|export)\b[^;]*?\bfrom\s+|^import\s+|\bimport\()"(\.[^"]+)"/gm;

const imports = new Map();
for (const file of readdirSync(SOURCE, { recursive: true, encoding: "utf8" })) {
  if (!/\.tsx?$/.test(file) || file.endsWith(".test.ts")) continue;
  const text = readFileSync(join(SOURCE, file), "utf8");
  const targets = [...text.matchAll(IMPORT)].map(([, specifier]) => join(dirname(file), specifier));
  imports.set(file, targets);
}

/** Files whose imports have all been followed. */
const done = new Set();
const circles = [];

function follow(file, path) {
  const start = path.indexOf(file);
  if (start >= 0) {
    circles.push([...path.slice(start), file]);
    return;
  }
  if (done.has(file)) return;
  for (const target of imports.get(file) ?? []) follow(target, [...path, file]);
  done.add(file);
}

for (const file of imports.keys()) follow(file, []);
for (const circle of circles)
  console.error(`a circle of imports: ${circle.map((file) => relative(".", join("src", file))).join(" → ")}`);
if (circles.length > 0) process.exit(1);
