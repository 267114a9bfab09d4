import { boolean, choice, instance, list, text } from '../../base/shape/shape.js';
import type { Logger } from '../../http/exchange/logger.js';
import type { RequestObserver } from '../../http/exchange/record.js';
import { option } from './option.js';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Callbacks of a server. */
export const observerOptions = {
  /** Each is called once per request, after its response. */
  observers: option({
    shape: list(instance<RequestObserver>('function')),
    help: 'each is called once a request, after its response',
    defaultWords: 'none',
  }),
  /** Receives log messages. Default: none. */
  logger: option({
    shape: instance<Logger>('object', { has: ['info', 'warn', 'error'] }),
    help: 'receives what goes wrong inside',
    defaultWords: 'nobody does',
  }),
  /**
   * Called once when the server has failed for good, for instance because a disk failed during a
   * commit. All further requests are refused. End the process at once and by force
   * (`process.kill(process.pid, 'SIGKILL')`), and start it again: `close()` resolves, but the
   * process may not be able to exit by itself. Default: only the logger is told.
   */
  onFatal: option({
    shape: instance<(error: Error) => void>('function'),
    help: 'called once when the server cannot go on: end the process then, by force',
    defaultWords: 'only the logger is told',
  }),
};

/** Only for `tabularium start`. */
export const logOptions = {
  logLevel: option({
    shape: choice(logLevels),
    help: 'the least important lines to log; debug adds one for every request',
    defaultValue: 'info',
    group: 'Log:',
    flags: [{ spelling: '--log-level <level>', form: 'text', variable: 'TABULARIUM_LOG_LEVEL' }],
    file: { member: 'logLevel', example: 'info' },
    page: 'command-line.md#log',
  }),
  silent: option({
    shape: boolean,
    help: 'log no requests, whatever the level',
    defaultValue: false,
    group: 'Log:',
    flags: [{ spelling: '-s, --silent', form: 'on' }],
  }),
  debug: option({
    shape: text(),
    help: 'append the log to this file, at level debug',
    defaultWords: 'standard error',
    group: 'Log:',
    flags: [{ spelling: '-d, --debug <file>', form: 'text' }],
  }),
};
