import { ServerOptionsError } from './server-options-error.js';

/** How a running server can be controlled from outside of its process. */
export interface ControlOptions {
  /**
   * The port of the control API, which listens on 127.0.0.1 alone and asks for no credentials: see
   * docs/reference/fault-injection.md. 0 takes a free one. Default: there is none.
   */
  readonly controlPort?: number;
}

/** Undefined: no control API. Throws `ServerOptionsError`. */
export function controlPortOf({ controlPort }: ControlOptions): number | undefined {
  if (controlPort === undefined) return undefined;
  if (Number.isInteger(controlPort) && controlPort >= 0 && controlPort <= 65_535)
    return controlPort;
  throw new ServerOptionsError(
    `controlPort must be an integer from 0 to 65535, not ${controlPort}`,
  );
}
