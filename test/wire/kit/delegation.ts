import type { TestIssuer } from '../../support/oauth-issuer.js';
import type { BlobWireClient } from './blob-client.js';
import { blobSas } from './blob-sas.js';
import { elementText } from './queue-xml.js';
import type { SasParameters } from './sas.js';

/** Who asks for a user delegation key. */
interface Bearer {
  readonly wire: BlobWireClient;
  readonly issuer: TestIssuer;
  /** Of those that begin with `Storage Blob Data`. */
  readonly role: string;
}

/** A signature by a fresh user delegation key of a bearer. */
export async function delegatedSas(
  { wire, issuer, role }: Bearer,
  name: string,
  fields: SasParameters,
): Promise<SasParameters> {
  const time = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const roles = [`Storage Blob Data ${role}`];
  const token = await issuer.token({ roles, oid: 'o-1', tid: 't-1' });
  const { text } = await wire.expect(200, {
    method: 'POST',
    path: '/?restype=service&comp=userdelegationkey',
    headers: { Authorization: `Bearer ${token}` },
    body: `<KeyInfo><Start>${time(-1)}</Start><Expiry>${time(1)}</Expiry></KeyInfo>`,
  });
  const of = (element: string) => elementText(text, element) ?? '';
  const key = {
    skoid: of('SignedOid'),
    sktid: of('SignedTid'),
    skt: of('SignedStart'),
    ske: of('SignedExpiry'),
    sks: of('SignedService'),
    skv: of('SignedVersion'),
  };
  const owner = { account: wire.account, key: of('Value') };
  return blobSas(name, { ...key, ...fields }, owner);
}
