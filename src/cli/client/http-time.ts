import { parseHttpDate } from '../../wire/http/http-date.js';

/** `2009-10-09T21:04:30Z` of a date of HTTP; a text that is no date is unchanged. */
export function timeText(date: string): string {
  const timeMs = parseHttpDate(date);
  return timeMs === undefined ? date : `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
}
