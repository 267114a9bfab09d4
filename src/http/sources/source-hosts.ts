/** Where blobs may be copied from; the option `copySources`. */
export interface SourceRules {
  /**
   * Names and addresses of other servers. `.example.com`: all names under it, `*`: all. With a port
   * behind a colon, or `*` for every port; without one, the ports of http and https.
   */
  readonly hosts: readonly string[];
  /** Whether addresses of this machine and of its networks are among them. */
  readonly privateNetworks: boolean;
  /** The longest source, in bytes. */
  readonly bytesMax: number;
}

const standardPorts: ReadonlySet<string> = new Set(['', '80', '443']);

const form = /^(\[[^\]]*\]|[^:]*)(?::([0-9]+|\*))?$/;

/** Whether one of the hosts of the rules is that of a URL. */
export function allowsHost({ hosts }: Pick<SourceRules, 'hosts'>, url: URL): boolean {
  return hosts.some((host) => isMatch(host, url));
}

function isMatch(allowed: string, { hostname, port, protocol }: URL): boolean {
  const [, name = '', allowedPort] = form.exec(allowed.toLowerCase()) ?? [];
  return hasName(name, hostname) && hasPort(allowedPort, port, protocol);
}

function hasName(allowed: string, hostname: string): boolean {
  // A dot behind a name is another spelling of it.
  const name = hostname.endsWith('.') ? hostname.slice(0, -1) : hostname;
  if (allowed === '*') return true;
  return allowed.startsWith('.') ? name.endsWith(allowed) : name === allowed;
}

function hasPort(allowed: string | undefined, port: string, protocol: string): boolean {
  if (allowed === '*') return true;
  if (allowed === undefined) return standardPorts.has(port);
  return allowed === (port === '' ? (protocol === 'https:' ? '443' : '80') : port);
}
