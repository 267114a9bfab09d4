import { ModelError } from '../rows/model-error.js';

/**
 * A row that cannot be encrypted or decrypted: a key that is not known or does not fit, a value
 * that was changed or moved, a property that should be encrypted and is not. Nothing was changed.
 */
export class EncryptionError extends ModelError {
  override readonly name = 'EncryptionError';
}
