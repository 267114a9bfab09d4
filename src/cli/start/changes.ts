import { isDeepStrictEqual } from 'node:util';
import type { ServerChanges, TabulariumServer } from '../../app/index.js';
import { changesOf, type StartSettings } from './settings.js';

/**
 * Applies changed settings to a running server. Faults and limits are left alone while their
 * settings are unchanged, because they may have been changed at run time.
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
      ...(isDeepStrictEqual(faults, current.faults) ? {} : { faults }),
      ...(isDeepStrictEqual(throttle, current.throttle) ? {} : { throttle }),
    };
    await server.reload(changed);
    current = next;
  };
}
