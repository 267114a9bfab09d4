import { boolean, either, list, text, whole, type Shape } from '../../base/shape/shape.js';
import { blockBytesMax } from '../../services/blobs/limits.js';
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
    defaultValue: false,
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
   * Let blobs have immutability policies and legal holds, and keep versions of blobs, as the cloud
   * service needs it for them: `true` in all accounts, or in those of these names (`*`: in all).
   * Existing policies and legal holds stay when the option is removed. Default: in none.
   */
  blobImmutability: option({
    shape: accounts,
    help: 'let blobs have immutability policies and legal holds, and keep versions: in all accounts, or in those that are named',
    defaultValue: false,
    group: 'Data:',
    flags: [
      {
        spelling: '--blob-immutability [accounts]',
        form: 'names',
        help: 'let blobs have immutability policies and legal holds, and keep versions: in all accounts (*), or in those that are named, separated by commas',
        variable: 'TABULARIUM_BLOB_IMMUTABILITY',
      },
    ],
    file: { member: 'blobs.immutability', example: true },
    reloads: true,
    page: '../guides/blobs.md#immutable-blobs',
  }),
  /**
   * Refuse requests without a credential, and containers that would be public: `true` in all
   * accounts, or in those of these names (`*`: in all). Default: in none.
   */
  refusePublicAccess: option({
    shape: accounts,
    help: 'let nobody read blobs without a credential: in all accounts, or in those that are named',
    defaultValue: false,
    group: 'Data:',
    flags: [
      {
        spelling: '--refuse-public-access [accounts]',
        form: 'names',
        help: 'let nobody read blobs without a credential: in all accounts (*), or in those that are named, separated by commas',
        variable: 'TABULARIUM_REFUSE_PUBLIC_ACCESS',
      },
    ],
    file: { member: 'blobs.refusePublicAccess', example: true },
    reloads: true,
    page: '../guides/blobs.md#public-containers',
  }),
  /**
   * For how many days deleted containers of blobs are kept and can be restored, up to 365. Default:
   * 0, they are not kept.
   */
  containerRetentionDays: option({
    shape: whole(0, retentionDaysMax),
    help: 'for how many days deleted containers of blobs are kept, and can be restored; 0: not kept',
    defaultValue: 0,
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

const mebibyte = 1024 * 1024;

/** Mebibytes of one block, as the protocol has them. */
const blockMebibytes = blockBytesMax / mebibyte;

export const blockRows = {
  /**
   * How many mebibytes one block may have, of block blobs and of append blobs: 1 to 4,000, which is
   * the default. Put Blob is not bounded by it.
   */
  maxBlockMiB: option({
    shape: whole(1, blockMebibytes),
    help: 'how many mebibytes one block may have that is put or appended',
    defaultValue: blockMebibytes,
    group: 'Data:',
    flags: [
      {
        spelling: '--max-block-mib <mebibytes>',
        form: 'number',
        variable: 'TABULARIUM_MAX_BLOCK_MIB',
      },
    ],
    file: { member: 'blobs.maxBlockMiB', example: 100 },
    page: '../guides/blobs.md#sizes-of-blocks',
  }),
};

/** The bytes that one block may have. */
export function blockBytesOf({
  maxBlockMiB = blockMebibytes,
}: OptionsOf<typeof blockRows>): number {
  return maxBlockMiB * mebibyte;
}

/** Options that protect data of blobs. */
export type BlobProtectionOptions = OptionsOf<typeof blobRows>;
