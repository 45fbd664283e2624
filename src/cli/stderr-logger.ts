import type { LogFields, Logger } from "../base/logger.ts";

export const LOG_LEVELS = ["error", "warn", "info", "debug"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Writes one JSON object per line. */
export function createStderrLogger(level: LogLevel): Logger {
  const most = LOG_LEVELS.indexOf(level);
  const at = (rank: LogLevel) => (message: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(rank) > most) return;
    process.stderr.write(
      `${JSON.stringify({ time: new Date().toISOString(), level: rank, message, ...fields })}\n`,
    );
  };
  return { error: at("error"), warn: at("warn"), info: at("info"), debug: at("debug") };
}
