import type { Logger } from "../../base/logger.ts";
import type { ServerObserver } from "../../server/settings/observer.ts";
import { requestLog } from "../../server/serve/request-log.ts";
import { failure, usageError } from "./cli-error.ts";
import { describeFileError } from "../shared/describe-file-error.ts";
import { createLogger, LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from "./log.ts";

/** Flags of the log with the placeholders of their values. */
export const LOG_FLAGS = { "log-level": "LEVEL", "log-file": "PATH", "log-format": "FORMAT" };

/** What the configuration file says about the log. Flags go before it. */
export interface ConfiguredLog {
  readonly logLevel?: LogLevel;
  readonly logFormat?: LogFormat;
}

/** Checks the flags; the returned function opens the log. At its finest level it has every request. */
export function parseLog(flags: ReadonlyMap<string, string>): (
  defaultLevel: LogLevel,
  configured?: ConfiguredLog,
) => {
  readonly logger: Logger;
  readonly observers: readonly ServerObserver[];
} {
  const chosenLevel = choose(flags, "log-level", LOG_LEVELS);
  const chosenFormat = choose(flags, "log-format", LOG_FORMATS);
  return (defaultLevel, { logLevel = defaultLevel, logFormat = "json" } = {}) => {
    const level = chosenLevel ?? logLevel;
    const file = flags.get("log-file");
    const logger = orFailure(file, () => createLogger({ level, format: chosenFormat ?? logFormat, file }));
    return { logger, observers: level === "debug" ? [requestLog(logger)] : [] };
  };
}

function orFailure<T>(file: string | undefined, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const isLink = (error as NodeJS.ErrnoException).code === "ELOOP";
    const why = isLink ? "it is a symbolic link, which is not followed" : describeFileError(error);
    throw failure(`cannot open the log file ${file}: ${why}`);
  }
}

function choose<const T extends string>(
  flags: ReadonlyMap<string, string>,
  name: keyof typeof LOG_FLAGS,
  values: readonly T[],
): T | undefined {
  const text = flags.get(name);
  if (text === undefined) return undefined;
  const value = values.find((known) => known === text);
  if (value !== undefined) return value;
  throw usageError(
    `invalid value '${text}' for '--${name} <${LOG_FLAGS[name]}>': expected ${values.join(", ")}`,
  );
}
