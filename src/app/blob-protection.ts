import type { BlobProtectionOptions } from './options/blobs.js';

/**
 * The options that protect data of blobs: versions, immutability, retention of deleted containers,
 * and no public access. A running server can change them.
 */
export class BlobProtection {
  #options: Required<BlobProtectionOptions> = {
    blobVersioning: false,
    blobImmutability: false,
    containerRetentionDays: 0,
    refusePublicAccess: false,
  };

  constructor(options: BlobProtectionOptions) {
    this.change(options);
  }

  /** Absent options stay as they are. */
  change(options: BlobProtectionOptions): void {
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
