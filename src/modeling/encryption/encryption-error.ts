import { ModelError } from '../rows/model-error.js';

/**
 * A row cannot be encrypted or decrypted: a key is unknown or does not fit, a value was changed or
 * moved, or a property that should be encrypted is not. Nothing was changed.
 */
export class EncryptionError extends ModelError {
  override readonly name = 'EncryptionError';
}
