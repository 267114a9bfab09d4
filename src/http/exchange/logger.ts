/** Facts beside a log message. Never credentials, never values of entities. */
export type LogFields = Readonly<Record<string, unknown>>;

/** What the server tells its operator apart from request records. */
export interface Logger {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export const silentLogger: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
