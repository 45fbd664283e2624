import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { INSTALL_COMMAND } from "../../src/cli/shared/install-command.ts";

/** Every way to get a package by its name: npm, npx, and what other package managers call the same. */
const INSTALLS =
  /\b(?:npm|pnpm|yarn|bun)\s+(?:(?:-\S+|global)\s+)*(?:i|in|ins|install|add|exec|x|dlx|create|init)\b[^\n`'"|&;]*|\b(?:npx|pnpx|bunx)\s[^\n`'"|&;]*/g;
const OUR_NAME = /(?<![\w./@-])exec-server(?![\w./-])/;

/** Commands in a text that install the package by its name. */
function installsByName(text: string): string[] {
  return [...text.matchAll(INSTALLS)]
    .map(([command]) => command.replace(/\s+#.*/, "").trim())
    .filter((command) => OUR_NAME.test(command));
}

it("finds every spelling of an installation by name", () => {
  const found = [
    "npm install -g exec-server",
    "npm i exec-server@latest",
    "npm --global install exec-server",
    "npx exec-server run",
    "npx --yes exec-server",
    "npm exec -- exec-server",
    "pnpm add exec-server",
    "yarn global add exec-server",
  ];
  expect(found.filter((line) => installsByName(line).length === 0)).toEqual([]);
  const harmless = [
    "npm install ../exec-server",
    "npm install ./exec-server-0.2.0.tgz",
    "npm start; exec-server run",
  ];
  expect(harmless.flatMap(installsByName)).toEqual([]);
});

it("no page, help or error installs the package by a name that is not ours", () => {
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    encoding: "utf8",
  });
  const texts = files
    .split("\n")
    .filter((path) => /\.(?:md|ts|tsx|mjs|ya?ml|toml|sh|service|html)$|Dockerfile$/.test(path))
    .filter((path) => !/install-command(?:\.test)?\.ts$/.test(path));
  const named = texts.flatMap((path) =>
    installsByName(readFileSync(path, "utf8")).map((command) => `${path}: ${command}`),
  );
  expect(named.filter((line) => !line.endsWith(`: ${INSTALL_COMMAND}`))).toEqual([]);
  expect(readFileSync("docs/guide/operate.md", "utf8")).toContain(INSTALL_COMMAND);
});
