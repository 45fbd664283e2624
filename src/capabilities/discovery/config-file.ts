import { isUtf8 } from "node:buffer";
import { readFileSync, statSync } from "node:fs";
import { CapabilityError } from "../../base/errors.ts";
import { fileError } from "../files/file-error.ts";
import type { Location } from "../files/location.ts";
import { describeInvalidUtf8 } from "./capability-files.ts";
import type { TomlTable } from "./toml-writer.ts";

type Toml = typeof import("smol-toml");

/** Parsing blocks everything else, so its input is limited. */
const MAX_CONFIG_BYTES = 1024 * 1024;

/** Undefined if the file does not exist. Throws if it cannot be used. */
export async function readConfigFile(
  location: Location,
  kind: "config" | "project config" = "config",
): Promise<TomlTable | undefined> {
  const toml = await import("smol-toml");
  const path = location.shown;
  const text = readText(location, kind);
  if (text === undefined) return undefined;
  try {
    return toml.parse(text, { integersAsBigInt: true });
  } catch (error) {
    throw configError(
      kind === "config"
        ? describeAt(toml, error, (line, column) => `${path}:${line}:${column}: `)
        : `Error parsing project config file ${path}: ${describeAt(toml, error, (line, column) => `TOML parse error at line ${line}, column ${column}: `)}`,
    );
  }
}

export function configError(message: string): CapabilityError {
  return new CapabilityError("OS_ERROR", `failed to load executor-local config: ${message}`);
}

function readText(location: Location, kind: string): string | undefined {
  const path = location.shown;
  const refuse = (why: string) => configError(`Failed to read ${kind} file ${path}: ${why}`);
  let bytes: Buffer;
  try {
    bytes = location.onTarget({ followSymlinks: true }, (opened) => {
      const stat = statSync(opened);
      if (!stat.isFile()) throw refuse(`path \`${path}\` is not a file`);
      if (stat.size > MAX_CONFIG_BYTES) throw refuse(`longer than ${MAX_CONFIG_BYTES} bytes`);
      return readFileSync(opened);
    });
  } catch (cause) {
    const error = fileError(cause);
    if (!(error instanceof CapabilityError) || error.errno === undefined) throw error;
    if (error.errno === "ENOENT" || error.errno === "ENOTDIR") return undefined;
    throw refuse(error.message);
  }
  if (!isUtf8(bytes)) throw refuse(describeInvalidUtf8(bytes));
  return bytes.toString("utf8");
}

function describeAt(toml: Toml, error: unknown, location: (line: number, column: number) => string): string {
  const [reason = ""] = (error as Error).message.replace("Invalid TOML document: ", "").split("\n", 1);
  return error instanceof toml.TomlError ? `${location(error.line, error.column)}${reason}` : reason;
}
