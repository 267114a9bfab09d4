import type { SecureContext } from 'node:tls';
import type { Clock } from '../../base/clock.js';
import type { Timer, Timers } from '../../base/async/timers.js';
import type { Logger } from '../../http/exchange/logger.js';
import type { TlsIdentity } from '../../http/tls/tls-acceptor.js';
import { fileStamp } from '../../base/file-stamp.js';
import type { Identity } from './identity.js';
import type { TlsChoice } from '../options/tls-settings.js';

/** The source of a server's certificate; can be loaded repeatedly. */
export interface CertificateSource {
  /** The files that loading reads. */
  readonly files: readonly string[];
  /**
   * How long before its expiry the certificate is loaded again, because the source creates a new
   * one then; 0: never.
   */
  readonly renewBeforeMs: number;
  /** Throws `ServerOptionsError`, which says which file is wrong. */
  load(nowMs: number): Promise<Identity>;
}

export interface CertificatesOptions {
  readonly sourceOf: (choice: TlsChoice) => CertificateSource;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
}

/** How often the files are checked. Works for every way to replace them, on every file system. */
const watchMs = 1_000;
/** A partial replacement may cause this many failures with the same files before one is logged. */
const failuresUntilLogged = 5;

/**
 * The certificate of a server, reloaded when its files change. An invalid one is never used: while
 * certificate and key do not match, such as halfway through a replacement, the last valid pair
 * stays.
 */
export class Certificates implements TlsIdentity {
  readonly #options: CertificatesOptions;
  #choice: TlsChoice;
  #source: CertificateSource;
  #identity: Identity;
  /** The stamp of the files when `#identity` was loaded. */
  #stamp: string;
  #failedStamp = '';
  #failures = 0;
  #timer: Timer | undefined;
  #isClosed = false;
  /** The last check of the files. */
  #looked: Promise<void> = Promise.resolve();

  private constructor(choice: TlsChoice, loaded: Loaded, options: CertificatesOptions) {
    this.#options = options;
    this.#choice = choice;
    this.#source = loaded.source;
    this.#identity = loaded.identity;
    this.#stamp = loaded.stamp;
  }

  /** Throws `ServerOptionsError`. Watches the files until it is closed. */
  static async open(choice: TlsChoice, options: CertificatesOptions): Promise<Certificates> {
    const loaded = await load(options.sourceOf(choice), options.clock);
    const certificates = new Certificates(choice, loaded, options);
    certificates.#warnOfDates();
    certificates.#watch();
    return certificates;
  }

  /** The context for new connections. */
  get context(): SecureContext {
    return this.#identity.context;
  }

  /** In PEM, with its chain. */
  get certificate(): string {
    return this.#identity.pem;
  }

  /**
   * Loads another certificate; the returned function activates it and watches its files. Throws
   * `ServerOptionsError`. Nothing changes before.
   */
  async prepare(choice: TlsChoice): Promise<() => void> {
    // Clients trust the existing development certificate, so it stays.
    const stays = choice.kind === 'self-signed' && this.#choice.kind === 'self-signed';
    if (stays) return () => undefined;
    const loaded = await load(this.#options.sourceOf(choice), this.#options.clock);
    return () => {
      this.#choice = choice;
      this.#source = loaded.source;
      this.#use(loaded);
    };
  }

  /** Stops watching. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.close();
    await this.#looked;
  }

  #watch(): void {
    const look = (): void => void (this.#looked = this.#look());
    this.#timer = this.#options.timers.start(watchMs, look, undefined);
  }

  async #look(): Promise<void> {
    await this.#follow();
    if (!this.#isClosed) this.#watch();
  }

  async #follow(): Promise<void> {
    const source = this.#source;
    const stamp = await stampOfAll(source.files);
    if (stamp === this.#stamp && !this.#isDue) return;
    try {
      const loaded = await load(source, this.#options.clock);
      if (source === this.#source) this.#use(loaded);
    } catch (error) {
      this.#failures = stamp === this.#failedStamp ? this.#failures + 1 : 1;
      this.#failedStamp = stamp;
      if (this.#failures !== failuresUntilLogged) return;
      this.#options.logger.error('the new certificate cannot be used; the last one stays', {
        error,
      });
    }
  }

  get #isDue(): boolean {
    const { renewBeforeMs } = this.#source;
    return renewBeforeMs > 0 && endOf(this.#identity) - this.#nowMs <= renewBeforeMs;
  }

  #use({ identity, stamp }: Loaded): void {
    const isNew = identity.certificate.fingerprint256 !== this.#identity.certificate.fingerprint256;
    this.#identity = identity;
    this.#stamp = stamp;
    this.#failedStamp = '';
    if (!isNew) return;
    const { fingerprint256, validTo } = identity.certificate;
    this.#options.logger.info('the certificate was replaced', { fingerprint256, validTo });
    this.#warnOfDates();
  }

  #warnOfDates(): void {
    const { validFrom, validTo } = this.#identity.certificate;
    const { logger } = this.#options;
    if (endOf(this.#identity) <= this.#nowMs) {
      logger.warn('the certificate has expired: clients will refuse it', { validTo });
    } else if (Date.parse(validFrom) > this.#nowMs) {
      logger.warn('the certificate is not valid yet: clients will refuse it', { validFrom });
    }
  }

  get #nowMs(): number {
    return this.#options.clock.nowMicros() / 1000;
  }
}

interface Loaded {
  readonly source: CertificateSource;
  readonly identity: Identity;
  readonly stamp: string;
}

async function load(source: CertificateSource, clock: Clock): Promise<Loaded> {
  // Read before the files, so that a change meanwhile is noticed later.
  const stamp = await stampOfAll(source.files);
  const identity = await source.load(clock.nowMicros() / 1000);
  return { source, identity, stamp };
}

function endOf({ certificate }: Identity): number {
  return Date.parse(certificate.validTo);
}

async function stampOfAll(files: readonly string[]): Promise<string> {
  return (await Promise.all(files.map(fileStamp))).join('\n');
}
