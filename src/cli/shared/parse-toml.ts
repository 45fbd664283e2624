import { parse, TomlError } from "smol-toml";
import { Failure } from "./failure.ts";

/** Parses the text of a file. Throws a Failure that says where it is not TOML. */
export function parseToml(path: string, text: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [summary = ""] = error.message.split("\n");
    throw new Failure(`${path}:${error.line}:${error.column}: ${summary}`);
  }
}
