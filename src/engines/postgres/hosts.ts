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

/** An address as people may read it: without the password and the parameters. */
export function shownAddress(address: string): string {
  return address.replace(/^(\w+:\/\/)(?:([^:/?]*)[^/?]*(@))?([^?]*).*$/s, '$1$2$3$4');
}

/** Whether a connection string asks for statements that are not prepared: `prepare=false`. */
export function isUnprepared(url: string): boolean {
  return /[?&]prepare=false(?:&|$)/.test(url);
}
