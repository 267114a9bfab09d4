const months = 'JanFebMarAprMayJunJulAugSepOctNovDec';

const rfc1123 =
  /^[A-Z][a-z]{2}, (\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) (?:GMT|UTC)$/;

/** `Fri, 09 Oct 2009 21:04:30 GMT` */
const dateCharacters = 29;

/**
 * The size of the date cache. Lists of messages repeat few seconds: now, and times at a fixed
 * distance. A prime, so that times a whole number of hours or days apart use different slots.
 */
const rememberedDates = 61;
const lastDates: { readonly second: number; readonly text: string }[] = [];

/** `Fri, 09 Oct 2009 21:04:30 GMT` of microseconds since 1970; a part of a second is cut off. */
export function httpDate(micros: number): string {
  const second = Math.floor(micros / 1_000_000);
  const slot = Math.abs(second % rememberedDates);
  const last = lastDates[slot];
  if (last?.second === second) return last.text;
  const text = new Date(second * 1000).toUTCString();
  lastDates[slot] = { second, text };
  return text;
}

/**
 * Milliseconds since 1970 of `Fri, 21 Nov 2025 10:00:00 GMT`; undefined for text that is no such
 * date. The day of the week is not checked against the date.
 */
export function parseHttpDate(text: string): number | undefined {
  // No date is longer, and long texts must not fill the cache.
  if (text.length > dateCharacters) return undefined;
  const slot = slotOf(text);
  const last = lastRead[slot];
  if (last?.text === text) return last.time;
  const time = readHttpDate(text);
  lastRead[slot] = { text, time };
  return time;
}

/**
 * Requests repeat the date of the same second, besides other dates, such as the modification time
 * of a resource.
 */
const lastRead: { readonly text: string; readonly time: number | undefined }[] = [];

/** By the digits of the second, where there are any. */
function slotOf(text: string): number {
  const tens = text.charCodeAt(text.length - 6);
  const ones = text.charCodeAt(text.length - 5);
  return ((tens * 10 + ones) % rememberedDates) | 0;
}

function readHttpDate(text: string): number | undefined {
  const found = rfc1123.exec(text);
  if (!found) return undefined;
  const [day, , year, hour, minute, second] = found.slice(1).map(Number);
  const month = months.indexOf(found[2] ?? '');
  if (month < 0 || month % 3 !== 0) return undefined;
  const time = Date.UTC(year ?? 0, month / 3, day, hour, minute, second);
  // Refuses dates that roll over, such as 31 February or 24:00:00.
  const isExact = new Date(time).toUTCString().slice(-24) === canonicalTail(text);
  return isExact ? time : undefined;
}

/** `21 Nov 2025 10:00:00 GMT`, with a leading zero for a one-digit day. */
function canonicalTail(text: string): string {
  return text.slice(5).padStart(24, '0').replace('UTC', 'GMT');
}
