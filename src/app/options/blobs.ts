import { whole } from '../../base/shape/shape.js';
import { option } from './option.js';

/** Days for which the cloud service keeps deleted containers, at most. */
const retentionDaysMax = 365;

export const blobRows = {
  /**
   * For how many days deleted containers of blobs are kept and can be restored: 1 to 365. Default:
   * they are not kept.
   */
  containerRetentionDays: option({
    shape: whole(1, retentionDaysMax),
    help: 'for how many days deleted containers of blobs are kept, and can be restored',
    standardWords: 'not kept',
    group: 'Data:',
    flags: [
      {
        spelling: '--container-retention-days <days>',
        form: 'number',
        variable: 'TABULARIUM_CONTAINER_RETENTION_DAYS',
      },
    ],
    file: { member: 'blobs.containerRetentionDays', example: 7 },
    page: '../guides/blobs.md#deleted-containers',
  }),
};
