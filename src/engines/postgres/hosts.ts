/** `postgres://user:password@first:5432,second/name?…`. The last `@` before the hosts counts. */
const form = /^(?<before>postgres(?:ql)?:\/\/(?:[^/?]*@)?)(?<hosts>[^/?]*)(?<behind>.*)$/s;

/**
 * The connection string of each host in a connection string, in order. Undefined when it is
 * malformed.
 */
export function addressesOf(url: string): readonly string[] | undefined {
  const groups = form.exec(url)?.groups;
  if (groups === undefined) return undefined;
  const { before = '', hosts = '', behind = '' } = groups;
  const addresses = hosts.split(',').map((host) => `${before}${host}${behind}`);
  return addresses.every((address) => URL.canParse(address)) ? addresses : undefined;
}

/** Parameters at the end of an address: `?name=value&…`. */
const parameters = /\?(?:\w+=.*)?$/s;
/** An address without user, password and parameters. */
const bare = /^\w+:\/\/[^:,/]*(?::\d+)?(?:,[^:,/]*(?::\d+)?)*(?:\/.*)?$/s;

/**
 * An address as people may read it: without the password and the parameters. A password may have
 * characters that should be encoded, such as `/`, `?` and `@`: hosts begin behind the last `@`.
 */
export function shownAddress(address: string): string {
  const plain = address.replace(parameters, '');
  const isBare = !plain.includes('@') && (!address.includes('@') || bare.test(plain));
  if (isBare) return plain;
  const [beginning = ''] = /^(?:\w+:\/\/)?[^:@/?]*/.exec(address) ?? [];
  const hosts = (plain.includes('@') ? plain : address).split('@').at(-1) ?? '';
  return `${beginning}@${hosts.replace(parameters, '')}`;
}

/** Whether a connection string asks for statements that are not prepared: `prepare=false`. */
export function isUnprepared(url: string): boolean {
  return /[?&]prepare=false(?:&|$)/.test(url);
}
