import { readFileSync } from "node:fs";
import { describeErrno } from "../native/os-error.ts";
import { LIMIT_NAMES, limitFault, limitKey, type ServerLimits } from "../server/limits.ts";
import { type CliError, failure } from "./cli-error.ts";

const NAME_OF_KEY = new Map(LIMIT_NAMES.map((name) => [limitKey(name), name]));

/** Reads the `[limits]` table of a configuration file. Anything else in the file is an error. */
export async function readLimits(path: string): Promise<Partial<ServerLimits>> {
  const text = readText(path);
  const file = await parseToml(path, text);
  const refuse = (key: string, why: string): CliError =>
    failure(`${path}:${lineOf(text, key) ?? 1}: ${key} ${why}`);
  for (const key of Object.keys(file)) if (key !== "limits") throw refuse(key, "is not a known key");
  const table = file["limits"] ?? {};
  if (!isTable(table)) throw refuse("limits", "must be a table");
  const limits: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(table)) {
    const name = NAME_OF_KEY.get(key);
    if (name === undefined) throw refuse(`limits.${key}`, "is not a known key");
    const fault = limitFault(name, value);
    if (fault !== undefined) throw refuse(`limits.${key}`, fault);
    limits[name] = value;
  }
  return limits;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code, errno } = error as NodeJS.ErrnoException;
    if (code === undefined || errno === undefined) throw error;
    throw failure(`failed to read the configuration ${path}: ${describeErrno(code, Math.abs(errno))}`);
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

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Line of a key, found by its last part, because the parser does not report it. Undefined for unusual spellings. */
function lineOf(text: string, key: string): number | undefined {
  const last = key.split(".").at(-1) ?? key;
  const isKey = (line: string): boolean => {
    if (!line.includes("=") && !line.includes("]")) return false;
    const [written] = line.replaceAll(/[\s"'[\]]/g, "").split("=", 1);
    return written === last || written === `limits.${last}`;
  };
  const index = text.split("\n").findIndex(isKey);
  return index < 0 ? undefined : index + 1;
}
