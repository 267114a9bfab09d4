import type { BlobKeepingOptions } from './options/blobs.js';

/**
 * What the blob service keeps of what is overwritten and deleted, and whether it has anything for
 * nobody in particular, as the options say it now. A running server can change it.
 */
export class BlobKeeping {
  #options: Required<BlobKeepingOptions> = {
    blobVersioning: false,
    blobImmutability: false,
    containerRetentionDays: 0,
    refusePublicAccess: false,
  };

  constructor(options: BlobKeepingOptions) {
    this.change(options);
  }

  /** What is absent stays. */
  change(options: BlobKeepingOptions): void {
    const { blobVersioning, blobImmutability, containerRetentionDays, refusePublicAccess } =
      options;
    const before = this.#options;
    this.#options = {
      blobVersioning: blobVersioning ?? before.blobVersioning,
      blobImmutability: blobImmutability ?? before.blobImmutability,
      containerRetentionDays: containerRetentionDays ?? before.containerRetentionDays,
      refusePublicAccess: refusePublicAccess ?? before.refusePublicAccess,
    };
  }

  /** Whether an account keeps versions of its blobs. Without them nothing is immutable. */
  readonly versioning = (account: string): boolean =>
    isAmong(account, this.#options.blobVersioning) || this.immutability(account);

  /** Whether blobs of an account can have policies and legal holds. */
  readonly immutability = (account: string): boolean =>
    isAmong(account, this.#options.blobImmutability);

  /** Whether containers of an account may be public. */
  readonly permitsPublicAccess = (account: string): boolean =>
    !isAmong(account, this.#options.refusePublicAccess);

  /** For how many days deleted containers are kept. Undefined: not at all. */
  readonly containerRetentionDays = (): number | undefined => {
    const { containerRetentionDays: days } = this.#options;
    return days === 0 ? undefined : days;
  };
}

function isAmong(account: string, accounts: boolean | readonly string[]): boolean {
  if (typeof accounts === 'boolean') return accounts;
  return accounts.includes('*') || accounts.includes(account);
}
