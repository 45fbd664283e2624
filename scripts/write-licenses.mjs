import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const PACKAGE = /^(?:.*\/)?(node_modules\/(?:@[^/]+\/)?[^/]+)\//;
/** Packages without the text, and another one of the same repository. */
const TEXT_ELSEWHERE = { "node_modules/@xterm/headless": "node_modules/@xterm/xterm" };

/** Writes the licences of the packages that bundles hold, which their authors ask for. */
export function writeLicenses(file, metafiles) {
  const inputs = metafiles.flatMap(({ inputs }) => Object.keys(inputs));
  const folders = new Set(
    inputs.map((path) => PACKAGE.exec(path)?.[1]).filter((folder) => folder !== undefined),
  );
  const texts = [...folders]
    .sort((one, other) => (one < other ? -1 : 1))
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
      const texts = TEXT_ELSEWHERE[folder] ?? folder;
      const file = readdirSync(texts).find((entry) => /^licen[cs]e/i.test(entry));
      if (file === undefined)
        throw new Error(`${folder} has no licence: add it to scripts/write-licenses.mjs`);
      return `${name} ${version} (${license})\n\n${readFileSync(`${texts}/${file}`, "utf8").trim()}`;
    });
  writeFileSync(file, `${texts.join(`\n\n${"-".repeat(72)}\n\n`)}\n`);
}
