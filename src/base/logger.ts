/** Receives events that no caller learns of. `fields` are searchable facts; they never contain secrets. */
export interface Logger {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

const ignore = (): void => {};

export const silentLogger: Logger = { error: ignore, warn: ignore, info: ignore, debug: ignore };
