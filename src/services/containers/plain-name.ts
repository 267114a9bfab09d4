import { StorageError } from '../../model/errors/storage-error.js';

const lengthMin = 3;
export const plainNameLengthMax = 63;
const characters = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/**
 * Refuses a name that no queue and no ordinary container of blobs can have, with the code of the
 * broken rule (queue-service §5.1, blob-service §5.1).
 */
export function checkPlainName(name: string): void {
  if (name.length < lengthMin || name.length > plainNameLengthMax) {
    throw new StorageError('OutOfRangeInput', {
      message: 'The specified resource name length is not within the permissible limits.',
    });
  }
  if (!characters.test(name)) throw new StorageError('InvalidResourceName');
}
