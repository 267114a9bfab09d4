import { resolve } from 'node:path';
import { wrongOption } from './server-options-error.js';

/**
 * The certificate for TLS; all ports then only speak https. Files are reread when they change; open
 * connections are not affected. `'self-signed'`: a certificate for development, created at the
 * first start and kept in the data directory, or created at every start of a server in memory.
 */
export type TlsOptions = 'self-signed' | PemOptions | PfxOptions;

export interface PassphraseOptions {
  /** The passphrase of the key. */
  readonly passphrase?: string;
  /** The path of a file with the passphrase, instead of it. */
  readonly passphraseFile?: string;
}

export interface PemOptions extends PassphraseOptions {
  /** The server's certificate, followed by intermediate ones: PEM, or the path of a file. */
  readonly cert: string;
  /** The key of the server's certificate: PEM, or a file's path. */
  readonly key: string;
}

export interface PfxOptions extends PassphraseOptions {
  /** Certificate and key in one (PKCS #12): bytes, or a file's path. */
  readonly pfx: string | Uint8Array;
}

export type TlsSource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'given'; readonly bytes: Uint8Array };

/** Options with all required parts; the files are not read yet. */
export type TlsChoice =
  | { readonly kind: 'self-signed' }
  | {
      readonly kind: 'pem';
      readonly cert: TlsSource;
      readonly key: TlsSource;
      readonly passphrase: TlsSource | undefined;
    }
  | {
      readonly kind: 'pfx';
      readonly pfx: TlsSource;
      readonly passphrase: TlsSource | undefined;
    };

/** For options with a valid shape. Throws `ServerOptionsError`. */
export function tlsChoiceOf(options: TlsOptions): TlsChoice {
  if (options === 'self-signed') return { kind: 'self-signed' };
  if ('pfx' in options) {
    if ('cert' in options || 'key' in options) {
      throw wrongOption(['tls'], 'names a pfx and a cert or key as well: give one of them');
    }
    return { kind: 'pfx', pfx: pfxSource(options.pfx), passphrase: passphraseSource(options) };
  }
  return {
    kind: 'pem',
    cert: pemSource('cert', options.cert),
    key: pemSource('key', options.key),
    passphrase: passphraseSource(options),
  };
}

function pemSource(part: 'cert' | 'key', text: string | undefined): TlsSource {
  if (text === undefined || text === '') {
    throw wrongOption(
      ['tls'],
      `has no ${part}: a certificate in PEM needs cert and key, each a text or a file`,
    );
  }
  if (text.includes('-----BEGIN')) return { kind: 'given', bytes: Buffer.from(text) };
  return fileSource(text);
}

function pfxSource(pfx: string | Uint8Array): TlsSource {
  if (pfx.length === 0) throw wrongOption(['tls', 'pfx'], 'is empty: give bytes or a file');
  return typeof pfx === 'string' ? fileSource(pfx) : { kind: 'given', bytes: pfx };
}

function passphraseSource(options: PassphraseOptions): TlsSource | undefined {
  const { passphrase, passphraseFile } = options;
  if (passphraseFile === undefined) {
    return passphrase === undefined
      ? undefined
      : { kind: 'given', bytes: Buffer.from(passphrase, 'utf8') };
  }
  if (passphrase === undefined) return fileSource(passphraseFile);
  throw wrongOption(['tls'], 'has passphrase and passphraseFile: give one of them');
}

function fileSource(path: string): TlsSource {
  return { kind: 'file', path: resolve(path) };
}
