import type { Refuse } from "../../server/access/read-rights.ts";
import { describeFileError, Failure } from "../shared/failure.ts";
import { readSmallFile } from "../shared/read-small-file.ts";

/** Reads a TOML file; `name` describes it in errors. `refuse` creates the error for a key, with its line. */
export async function readTomlFile(
  path: string,
  name: string,
): Promise<{ readonly keys: Readonly<Record<string, unknown>>; readonly refuse: Refuse }> {
  const text = readText(path, name);
  // Loaded only if there is such a file.
  const { parseToml } = await import("../shared/parse-toml.ts");
  return {
    keys: parseToml(path, text),
    refuse: (key, why) => new Failure(`${path}:${lineOf(text, key) ?? 1}: ${key} ${why}`),
  };
}

function readText(path: string, name: string): string {
  try {
    return readSmallFile(path).toString("utf8");
  } catch (error) {
    throw new Failure(`failed to read the ${name} ${path}: ${describeFileError(error)}`);
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
