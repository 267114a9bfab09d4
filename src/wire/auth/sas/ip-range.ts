/** IPv4 addresses from `first` to `last`, both included, as numbers of 32 bits. */
export interface IpRange {
  readonly first: number;
  readonly last: number;
}

const octet = '(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const dotted = new RegExp(`^${octet}\\.${octet}\\.${octet}\\.${octet}$`);
const mappedPrefix = '::ffff:';

/**
 * The value of `sip`: an IPv4 address, or two with a dash between, the lower first (table-service
 * §8.3). Undefined for anything else.
 */
export function parseIpRange(text: string): IpRange | undefined {
  const dash = text.indexOf('-');
  const first = parseIpv4(dash < 0 ? text : text.slice(0, dash));
  const last = dash < 0 ? first : parseIpv4(text.slice(dash + 1));
  if (first === undefined || last === undefined || first > last) return undefined;
  return { first, last };
}

/**
 * True when the address of a connection lies in the range. An IPv4-mapped IPv6 address,
 * `::ffff:1.2.3.4`, counts as IPv4; every other IPv6 address is outside of every range.
 */
export function ipInRange({ first, last }: IpRange, address: string): boolean {
  const isMapped = address.slice(0, mappedPrefix.length).toLowerCase() === mappedPrefix;
  const value = parseIpv4(isMapped ? address.slice(mappedPrefix.length) : address);
  return value !== undefined && first <= value && value <= last;
}

function parseIpv4(text: string): number | undefined {
  const found = dotted.exec(text);
  if (!found) return undefined;
  return found.slice(1).reduce((value, part) => value * 256 + Number(part), 0);
}
