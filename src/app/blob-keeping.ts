import type { BlobKeepingOptions } from './options/blobs.js';

/**
 * What the blob service keeps of what is overwritten and deleted, as the options say it now. A
 * running server can change it.
 */
export class BlobKeeping {
  #options: Required<BlobKeepingOptions> = { blobVersioning: false, containerRetentionDays: 0 };

  constructor(options: BlobKeepingOptions) {
    this.change(options);
  }

  /** What is absent stays. */
  change({ blobVersioning, containerRetentionDays }: BlobKeepingOptions): void {
    this.#options = {
      blobVersioning: blobVersioning ?? this.#options.blobVersioning,
      containerRetentionDays: containerRetentionDays ?? this.#options.containerRetentionDays,
    };
  }

  /** Whether an account keeps versions of its blobs. */
  readonly versioning = (account: string): boolean => {
    const { blobVersioning: among } = this.#options;
    return typeof among === 'boolean' ? among : among.includes('*') || among.includes(account);
  };

  /** For how many days deleted containers are kept. Undefined: not at all. */
  readonly containerRetentionDays = (): number | undefined => {
    const { containerRetentionDays: days } = this.#options;
    return days === 0 ? undefined : days;
  };
}
