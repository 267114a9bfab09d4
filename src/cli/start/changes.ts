import { isDeepStrictEqual } from 'node:util';
import type { ServerChanges, TabulariumServer } from '../../app/index.js';
import { changesOf, type StartSettings } from './settings.js';

/**
 * Makes a server that runs with some settings run with the next ones. Faults and limits are left
 * alone while their settings stay the same: somebody may have changed them since, or count on them.
 */
export function settingsChanger(
  server: Pick<TabulariumServer, 'reload'>,
  started: StartSettings,
): (next: StartSettings) => Promise<void> {
  let current = changesOf(started);
  return async (settings) => {
    const next = changesOf(settings);
    const { faults, throttle, ...rest } = next;
    const changed: ServerChanges = {
      ...rest,
      ...(faults === undefined || isDeepStrictEqual(faults, current.faults) ? {} : { faults }),
      ...(throttle === undefined || isDeepStrictEqual(throttle, current.throttle)
        ? {}
        : { throttle }),
    };
    await server.reload(changed);
    current = next;
  };
}
