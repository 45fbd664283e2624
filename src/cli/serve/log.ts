import { isatty } from "node:tty";
import type { LogFields, Logger } from "../../base/logger.ts";
import { visibleJson } from "../../base/visible-text.ts";
import { requestLog } from "../../server/serve/request-log.ts";
import type { ServerObserver } from "../../server/settings/observer.ts";
import { BoundedLogFile } from "../shared/bounded-log-file.ts";
import { describeFileError, Failure } from "../shared/failure.ts";
import { writeErr } from "../shared/standard-streams.ts";
import type { Flags } from "./flags.ts";

/** Flags of the log with the placeholders of their values. */
export const LOG_FLAGS = { "log-level": "LEVEL", "log-file": "PATH", "log-format": "FORMAT" };

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

/** Checks the flags; the returned function opens the log. At its finest level it has every request. */
export function parseLog(flags: Flags): (
  defaultLevel: LogLevel,
  /** Settings of the configuration file. Flags override them. */
  configured: { readonly logLevel?: LogLevel; readonly logFormat?: LogFormat },
) => {
  readonly logger: Logger;
  readonly observers: readonly ServerObserver[];
} {
  const chosenLevel = flags.choice("log-level", LOG_LEVELS);
  const chosenFormat = flags.choice("log-format", LOG_FORMATS);
  const file = flags.get("log-file");
  return (defaultLevel, { logLevel = defaultLevel, logFormat = defaultFormat(file) }) => {
    const level = chosenLevel ?? logLevel;
    try {
      const logger = createLogger({ level, format: chosenFormat ?? logFormat, file });
      return { logger, observers: level === "debug" ? [requestLog(logger)] : [] };
    } catch (error) {
      const isLink = (error as NodeJS.ErrnoException).code === "ELOOP";
      const why = isLink ? "it is a symbolic link, which is not followed" : describeFileError(error);
      throw new Failure(`cannot open the log file ${file}: ${why}`);
    }
  };
}

/** Programs read a log, unless it is shown on a terminal. */
function defaultFormat(file: string | undefined): LogFormat {
  return file === undefined && isatty(2) ? "text" : "json";
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
  const timeOf = format === "text" && defaultFormat(file) === "text" ? clockTime : isoTime;
  const at = (rank: LogLevel) => (message: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(rank) > most) return;
    log.write(`${formatLine({ time: timeOf(new Date()), level: rank, message }, fields)}\n`);
  };
  return { error: at("error"), warn: at("warn"), info: at("info"), debug: at("debug") };
}

function lostLine(file: string, error: unknown): string {
  return `the log file ${file} cannot be written: ${describeFileError(error)}; its lines are lost until it can\n`;
}

const isoTime = (now: Date): string => now.toISOString();

/** Whoever looks at a terminal knows the day and the time zone. */
function clockTime(now: Date): string {
  return [now.getHours(), now.getMinutes(), now.getSeconds()]
    .map((part) => `${part}`.padStart(2, "0"))
    .join(":");
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

/** A single word is unquoted; anything else is JSON, which stays on its line and hides control characters. */
function plain(value: unknown): string {
  return typeof value === "string" && /^[\w.:/@+-]+$/.test(value)
    ? value
    : visibleJson(JSON.stringify(value));
}
