import { type CliError, failure } from "./cli-error.ts";
import { describeFileError } from "../shared/describe-file-error.ts";
import { readSmallFile } from "../shared/read-small-file.ts";

/** Makes the error for a key of a file. */
export type Refuse = (key: string, why: string) => CliError;

/** What is in a file, and how to refuse a key of it with its line. */
export interface TomlFile {
  readonly keys: Readonly<Record<string, unknown>>;
  readonly refuse: Refuse;
}

/** Reads a file of TOML; `name` says in errors what it is. */
export async function readTomlFile(path: string, name: string): Promise<TomlFile> {
  const text = readText(path, name);
  return {
    keys: await parseToml(path, text),
    refuse: (key, why) => failure(`${path}:${lineOf(text, key) ?? 1}: ${key} ${why}`),
  };
}

function readText(path: string, name: string): string {
  try {
    return readSmallFile(path).toString("utf8");
  } catch (error) {
    throw failure(`failed to read the ${name} ${path}: ${describeFileError(error)}`);
  }
}

async function parseToml(path: string, text: string): Promise<Record<string, unknown>> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [summary = ""] = error.message.split("\n");
    throw failure(`${path}:${error.line}:${error.column}: ${summary}`);
  }
}

/** Line of a key, found by its last part, because the parser does not report it. Undefined for unusual spellings. */
function lineOf(text: string, key: string): number | undefined {
  const last = key.split(".").at(-1) ?? key;
  const isKey = (line: string): boolean => {
    if (!line.includes("=") && !line.includes("]")) return false;
    const [written] = line.replaceAll(/[\s"'[\]]/g, "").split("=", 1);
    return written === last || written === key;
  };
  const index = text.split("\n").findIndex(isKey);
  return index < 0 ? undefined : index + 1;
}
