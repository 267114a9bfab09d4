import type { Logger as PinoLogger } from 'pino';
import type { Logger } from '../http/exchange/logger.js';

/** Adapts pino to the server's logger. An `error` among the fields is logged with its stack. */
export function loggerOfPino(pino: PinoLogger): Logger {
  return {
    info: (message, fields) => pino.info(withError(fields), message),
    warn: (message, fields) => pino.warn(withError(fields), message),
    error: (message, fields) => pino.error(withError(fields), message),
  };
}

/** pino serialises errors under the name `err`. */
function withError(fields: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const { error, ...rest } = fields;
  return error === undefined ? rest : { ...rest, err: error };
}
