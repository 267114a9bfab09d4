import { BlockList, isIP, isIPv4 } from 'node:net';

/**
 * The class of an IP address. `public`: a machine of the internet. `private`: this machine, its
 * networks and its link. `never`: not the address of a single machine, such as a multicast group,
 * or an address that embeds one of another kind.
 */
export type AddressClass = 'public' | 'private' | 'never';

type Network = readonly [address: string, prefixBits: number];

const privateNetworks4: readonly Network[] = [
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
];

const specialNetworks4: readonly Network[] = [
  ['0.0.0.0', 8],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

const privateNetworks6: readonly Network[] = [
  ['::1', 128],
  ['fc00::', 7],
  ['fe80::', 10],
];

/** The networks from which machines get addresses; all others have another meaning. */
const machines6: readonly Network[] = [['2000::', 3]];

/**
 * Networks among them without machines: tunnels, which carry an address of the other family, and
 * examples.
 */
const specialNetworks6: readonly Network[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

function listOf(networks: readonly Network[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [address, bits] of networks) list.addSubnet(address, bits, family);
  return list;
}

const private4 = listOf(privateNetworks4, 'ipv4');
const special4 = listOf(specialNetworks4, 'ipv4');
const private6 = listOf(privateNetworks6, 'ipv6');
const global6 = listOf(machines6, 'ipv6');
const special6 = listOf(specialNetworks6, 'ipv6');

/** `::ffff:127.0.0.1` in the one form in which a URL writes it: `::ffff:7f00:1`. */
const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** `address`: an IP address without brackets. Other texts are `never`. */
export function addressClass(address: string): AddressClass {
  if (isIPv4(address)) return classOf4(address);
  // A zone names an interface of this machine.
  if (isIP(address) === 0 || address.includes('%')) return 'never';
  const plain = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = mapped.exec(plain) ?? [];
  if (high !== undefined && low !== undefined) return classOf4(embedded(high, low));
  if (private6.check(plain, 'ipv6')) return 'private';
  return global6.check(plain, 'ipv6') && !special6.check(plain, 'ipv6') ? 'public' : 'never';
}

function classOf4(address: string): AddressClass {
  if (private4.check(address)) return 'private';
  return special4.check(address) ? 'never' : 'public';
}

function embedded(high: string, low: string): string {
  const [first, last] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, last >> 8, last & 255].join('.');
}
