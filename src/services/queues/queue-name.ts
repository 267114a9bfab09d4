import { StorageError } from '../../model/errors/storage-error.js';

const nameLengthMin = 3;
export const queueNameLengthMax = 63;
const nameCharacters = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Refuses an illegal queue name with the code of the broken rule (queue-service §5.1). */
export function checkQueueName(name: string): void {
  if (name.length < nameLengthMin || name.length > queueNameLengthMax) {
    throw new StorageError('OutOfRangeInput', {
      message: 'The specified resource name length is not within the permissible limits.',
    });
  }
  if (!nameCharacters.test(name)) throw new StorageError('InvalidResourceName');
}
