import type { LogFields, Logger } from "../../base/logger.ts";
import { visibleJson } from "../../base/visible-text.ts";
import { BoundedLogFile } from "../shared/bounded-log-file.ts";
import { describeFileError } from "../shared/describe-file-error.ts";
import { writeErr } from "../shared/standard-streams.ts";

export const LOG_LEVELS = ["error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const LOG_FORMATS = ["json", "text"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface LogOptions {
  readonly level: LogLevel;
  /** Default: stderr. */
  readonly file: string | undefined;
  readonly format: LogFormat;
}

/**
 * Writes one line per event: a JSON object, or words and `name=value` for people. Throws an error of the system if the
 * file cannot be opened.
 */
export function createLogger({ level, file, format }: LogOptions): Logger {
  const most = LOG_LEVELS.indexOf(level);
  const log =
    file === undefined
      ? { write: writeErr }
      : new BoundedLogFile(file, (error) => writeErr(lostLine(file, error)));
  const formatLine = format === "json" ? jsonLine : textLine;
  const at = (rank: LogLevel) => (message: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(rank) > most) return;
    log.write(`${formatLine({ time: new Date().toISOString(), level: rank, message }, fields)}\n`);
  };
  return { error: at("error"), warn: at("warn"), info: at("info"), debug: at("debug") };
}

function lostLine(file: string, error: unknown): string {
  return `the log file ${file} cannot be written: ${describeFileError(error)}; its lines are lost until it can\n`;
}

interface LogLine {
  readonly time: string;
  readonly level: LogLevel;
  readonly message: string;
}

function jsonLine(line: LogLine, fields: LogFields | undefined): string {
  return visibleJson(JSON.stringify({ ...line, ...fields }));
}

function textLine({ time, level, message }: LogLine, fields: LogFields = {}): string {
  const shown = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${plain(value)}`],
  );
  return [time, level.padEnd(5), message, ...shown].join(" ");
}

/** One word as it is; anything else as JSON, which stays on its line and shows no control characters. */
function plain(value: unknown): string {
  return typeof value === "string" && /^[\w.:/@+-]+$/.test(value)
    ? value
    : visibleJson(JSON.stringify(value));
}
