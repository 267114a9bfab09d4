import type { TestIssuer } from '../../support/oauth-issuer.js';
import type { BlobWireClient } from './blob-client.js';
import { blobSas } from './blob-sas.js';
import type { DatedClient, DatedRequest } from './dated-client.js';
import { elementText } from './queue-xml.js';
import type { SasParameters } from './sas.js';

/** Who asks for a user delegation key. */
interface Bearer {
  readonly wire: BlobWireClient;
  readonly issuer: TestIssuer;
  /** Of those that begin with `Storage Blob Data`. */
  readonly role: string;
}

/** A user delegation key: what a signature says of it, and the key itself. */
interface DelegationKey {
  readonly fields: SasParameters;
  readonly value: string;
}

/** Asks for a fresh user delegation key, which is valid for an hour. */
export async function freshDelegationKey(
  wire: Pick<DatedClient, 'expect'>,
  request: Pick<DatedRequest, 'headers' | 'version'>,
): Promise<DelegationKey> {
  const time = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const { text } = await wire.expect(200, {
    ...request,
    method: 'POST',
    path: '/?restype=service&comp=userdelegationkey',
    body: `<KeyInfo><Start>${time(-1)}</Start><Expiry>${time(1)}</Expiry></KeyInfo>`,
  });
  const of = (element: string) => elementText(text, element) ?? '';
  const fields = {
    skoid: of('SignedOid'),
    sktid: of('SignedTid'),
    skt: of('SignedStart'),
    ske: of('SignedExpiry'),
    sks: of('SignedService'),
    skv: of('SignedVersion'),
  };
  return { fields, value: of('Value') };
}

/** A signature by a fresh user delegation key of a bearer. */
export async function delegatedSas(
  { wire, issuer, role }: Bearer,
  name: string,
  fields: SasParameters,
): Promise<SasParameters> {
  const roles = [`Storage Blob Data ${role}`];
  const token = await issuer.token({ roles, oid: 'o-1', tid: 't-1' });
  const key = await freshDelegationKey(wire, { headers: { Authorization: `Bearer ${token}` } });
  const owner = { account: wire.account, key: key.value };
  return blobSas(name, { ...key.fields, ...fields }, owner);
}
