import { parseHttpDate } from '../../http/http-date.js';

/** How far a request's date may lie from the server's clock (table-service §8.1). */
export const clockSkewMsMax = 15 * 60 * 1000;

/** Whether a request's date is one and lies within the allowed skew, in either direction. */
export function isDateWithinSkew(date: string, nowMicros: number): boolean {
  const time = parseHttpDate(date);
  return time !== undefined && Math.abs(nowMicros / 1000 - time) <= clockSkewMsMax;
}
