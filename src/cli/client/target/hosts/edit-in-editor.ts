import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Failure, oneLine } from "../../../shared/failure.ts";
import { complain } from "../../print/complain.ts";
import { parseHosts, readHosts } from "./hosts-file.ts";
import { replaceFile } from "../../../shared/replace-file.ts";

const EMPTY = `# Hosts and fleets for 'exec-server -H NAME'; see 'exec-server host --help' and 'exec-server fleet --help'.
#
# [[environments]]
# id = "build"
# url = "wss://build.example:8443"
`;

/**
 * Opens hosts.toml in the user's editor. The result replaces the file only if it can be read; hosts or fleets with
 * mistakes are reported.
 */
export async function editInEditor(path: string): Promise<void> {
  const { text: before } = readHosts(path);
  const directory = mkdtempSync(join(tmpdir(), "exec-server-hosts-"));
  const copy = join(directory, "hosts.toml");
  writeFileSync(copy, before ?? EMPTY, { mode: 0o600 });
  await runEditor(copy);
  const text = readFileSync(copy, "utf8");
  if (text !== (before ?? EMPTY)) await replace(path, before, text, copy);
  rmSync(directory, { recursive: true });
}

async function replace(path: string, before: string | undefined, text: string, copy: string): Promise<void> {
  try {
    const { faults, fleetFaults } = parseHosts(text, path);
    await replaceFile(path, () => {
      if (readHosts(path).text !== before) throw new Failure(`${path} was changed meanwhile`);
      return text;
    });
    for (const { message } of [...faults, ...fleetFaults]) complain(message);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new Failure(`${oneLine(error.message)}; nothing was changed, and your text is in ${copy}`);
  }
}

/** As git does: the variable may contain options. */
async function runEditor(file: string): Promise<void> {
  const editor = process.env["VISUAL"] || process.env["EDITOR"] || "vi";
  const child = spawn("/bin/sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
  const [status] = (await once(child, "exit")) as [number | null];
  if (status !== 0)
    throw new Failure(`the editor '${editor}' failed; nothing was changed, and your text is in ${file}`);
}
