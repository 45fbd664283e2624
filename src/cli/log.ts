import type { LogFields, Logger } from "../base/logger.ts";
import { BoundedLogFile } from "./bounded-log-file.ts";
import { writeErr } from "./standard-streams.ts";

export const LOG_LEVELS = ["error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Writes one JSON object per line, to stderr or to a file. */
export function createLogger(level: LogLevel, file: string | undefined): Logger {
  const most = LOG_LEVELS.indexOf(level);
  const log = file === undefined ? { write: writeErr } : new BoundedLogFile(file);
  const at = (rank: LogLevel) => (message: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(rank) > most) return;
    log.write(`${JSON.stringify({ time: new Date().toISOString(), level: rank, message, ...fields })}\n`);
  };
  return { error: at("error"), warn: at("warn"), info: at("info"), debug: at("debug") };
}
