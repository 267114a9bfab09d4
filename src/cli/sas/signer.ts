import type { SasSigner } from '../../wire/auth/sas/sas-signature.js';
import type { Connection } from '../client/connection.js';
import { UsageError } from '../terminal/failure.js';

/** The key that signs. Throws `UsageError` for a connection without one. */
export function signerOf({ account, credential }: Connection): SasSigner {
  if (credential.kind === 'shared-key') return { name: account, key: credential.key };
  throw new UsageError(
    'The connection string has a SharedAccessSignature; making a token takes an AccountKey.',
  );
}
