import { boolean, either, list, text, whole, type Shape } from '../../base/shape/shape.js';
import { option, type OptionsOf } from './option.js';

/** Days for which the cloud service keeps deleted containers, at most. */
const retentionDaysMax = 365;

const accountName = text({
  pattern: /^(\*|[a-z0-9]{3,24})$/,
  expected: 'the name of an account, or * for all',
});

const accounts: Shape<boolean | readonly string[]> = either([boolean, list(accountName)]);

export const blobRows = {
  /**
   * Keep what is written over and deleted as versions of blobs: `true` in all accounts, or in those
   * of these names (`*`: in all). Default: in none.
   */
  blobVersioning: option({
    shape: accounts,
    help: 'keep versions of blobs: in all accounts, or in those that are named',
    standard: false,
    group: 'Data:',
    flags: [
      {
        spelling: '--blob-versioning [accounts]',
        form: 'names',
        help: 'keep versions of blobs: in all accounts (*), or in those that are named, separated by commas',
        variable: 'TABULARIUM_BLOB_VERSIONING',
      },
    ],
    file: { member: 'blobs.versioning', example: true },
    reloads: true,
    page: '../guides/blobs.md#versions',
  }),
  /**
   * For how many days deleted containers of blobs are kept and can be restored, up to 365. Default:
   * 0, they are not kept.
   */
  containerRetentionDays: option({
    shape: whole(0, retentionDaysMax),
    help: 'for how many days deleted containers of blobs are kept, and can be restored; 0: not kept',
    standard: 0,
    group: 'Data:',
    flags: [
      {
        spelling: '--container-retention-days <days>',
        form: 'number',
        variable: 'TABULARIUM_CONTAINER_RETENTION_DAYS',
      },
    ],
    file: { member: 'blobs.containerRetentionDays', example: 7 },
    reloads: true,
    page: '../guides/blobs.md#deleted-containers',
  }),
};

/** What of blobs is kept beyond the protocol. */
export type BlobKeepingOptions = OptionsOf<typeof blobRows>;
