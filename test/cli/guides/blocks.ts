import { readdirSync, readFileSync } from "node:fs";
import { packageRoot } from "../../fault/server-under-test.ts";

const FENCED = /^( *)```(sh|console)\n(.*?)^ *```$/gms;

/** Pages for readers with the commands that they show, in their order. The command line's page is played as a whole. */
export function readPages(): Map<string, string[]> {
  const guides = readdirSync(`${packageRoot}/docs/guide`)
    .filter((name) => name !== "command-line.md")
    .map((name) => `docs/guide/${name}`);
  return new Map(
    ["README.md", ...guides.sort()].map((page) => {
      const text = readFileSync(`${packageRoot}/${page}`, "utf8");
      return [page, [...text.matchAll(FENCED)].map(([, , kind, body = ""]) => scriptOf(kind, body))];
    }),
  );
}

/** Of a session, what is typed; of a script, everything. */
function scriptOf(kind: string | undefined, body: string): string {
  if (kind === "sh") return body;
  return body
    .split("\n")
    .filter((line) => line.startsWith("$ "))
    .map((line) => `${line.slice(2)}\n`)
    .join("");
}

/** The text of the block in another language below a heading, such as the contents of a file. */
export function fileInPage(page: string, firstLine: string): string {
  const text = readFileSync(`${packageRoot}/${page}`, "utf8");
  const start = text.indexOf(`\n${firstLine}\n`);
  if (start < 0) throw new Error(`${page} has no file that begins with ${firstLine}`);
  return text.slice(start + 1, text.indexOf("\n```", start));
}
