import type { InterceptorOptions } from '../../app/index.js';

/** The active faults and limits, as lines of the banner. */
export function interceptorLines({ faults = [], throttle = 'off' }: InterceptorOptions): string[] {
  const limits = typeof throttle === 'string' ? throttle : JSON.stringify(throttle);
  return [
    ...(faults.length === 0
      ? []
      : [`  Faults      ${faults.length} ${faults.length === 1 ? 'rule' : 'rules'}`]),
    ...(throttle === 'off' ? [] : [`  Throttle    ${limits}`]),
  ];
}
