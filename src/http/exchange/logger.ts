/** Facts beside a log message. Must not contain credentials or values of entities. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Messages for the operator of the server, apart from request records. */
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
