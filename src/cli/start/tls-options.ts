import { X509Certificate } from 'node:crypto';
import { developmentCertificateFiles } from '../../app/tls/development-certificate.js';
import type { PassphraseOptions, ServerOptions, TlsOptions } from '../../app/index.js';
import { longOf } from '../../app/options/option.js';
import { UsageError } from '../terminal/failure.js';
import type { GivenFlag } from './given-flags.js';
import type { ComposeFlags } from './option-values.js';

/**
 * Selects the certificate from flags. Flags on the command line replace all variables. Throws
 * `UsageError`.
 */
export const tlsValue: ComposeFlags = (given, flags) => {
  const isCertificate = ({ flag }: GivenFlag): boolean => !isPassphrase(longOf(flag));
  const certificates = given.filter(isCertificate);
  const onLine = certificates.filter(({ flag }) => flags.from(flag) === 'cli');
  const considered = onLine.length > 0 ? onLine : certificates;
  const textOf = (long: string): string | undefined => textIn(considered, long);
  const cert = textOf('--tls-cert') ?? textOf('--cert');
  const key = textOf('--tls-key') ?? textOf('--key');
  const isPfx = key === undefined && textOf('--cert') !== undefined;
  const pfx = textOf('--tls-pfx') ?? (isPfx ? textOf('--cert') : undefined);
  const chosen = { how: textOf('--tls'), cert: isPfx ? undefined : cert, key, pfx };
  return choose(chosen, {
    file: textIn(given, '--tls-passphrase-file'),
    text: textIn(given, '--pwd'),
  });
};

function isPassphrase(long: string): boolean {
  return long === '--tls-passphrase-file' || long === '--pwd';
}

function textIn(given: readonly GivenFlag[], long: string): string | undefined {
  const value = given.find(({ flag }) => longOf(flag) === long)?.value;
  return typeof value === 'string' ? value : undefined;
}

interface Chosen {
  readonly how: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly pfx: string | undefined;
}

/** The passphrase or its file. */
interface Passphrase {
  readonly file: string | undefined;
  readonly text: string | undefined;
}

function choose({ how, cert, key, pfx }: Chosen, passphrase: Passphrase): TlsOptions {
  const isPem = cert !== undefined || key !== undefined;
  const ways = [how !== undefined, isPem, pfx !== undefined].filter(Boolean).length;
  if (ways > 1) {
    throw new UsageError(
      '--tls self-signed, --tls-cert with --tls-key, and --tls-pfx exclude each other: give one.',
    );
  }
  if (how !== undefined) return 'self-signed';
  if (pfx !== undefined) return { pfx, ...passphraseOf(passphrase) };
  if (cert !== undefined && key !== undefined) return { cert, key, ...passphraseOf(passphrase) };
  if (isPem) {
    const [given, missing] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    throw new UsageError(
      `--tls-${given} needs --tls-${missing} as well. For both in one file give --tls-pfx.`,
    );
  }
  throw new UsageError('A passphrase opens a key: give --tls-cert and --tls-key, or --tls-pfx.');
}

function passphraseOf({ file, text }: Passphrase): Partial<PassphraseOptions> {
  if (file !== undefined && text !== undefined) {
    throw new UsageError('--tls-passphrase-file and --pwd exclude each other: give one of them.');
  }
  if (file !== undefined) return { passphraseFile: file };
  const passphrase = text ?? process.env['TABULARIUM_TLS_PASSPHRASE'];
  return passphrase === undefined ? {} : { passphrase };
}

/** The certificate, as lines of the banner. */
export function tlsLines(certificate: string | undefined): string[] {
  if (certificate === undefined) return [];
  const { fingerprint256, validTo } = new X509Certificate(certificate);
  return [`  TLS         SHA-256 ${fingerprint256}`, `              until ${validTo}`];
}

/** How clients can trust a development certificate. */
export function trustLines(
  certificate: string | undefined,
  { tls, location }: Pick<ServerOptions, 'tls' | 'location'>,
): string[] {
  if (certificate === undefined || tls !== 'self-signed') return [];
  const kept = location === undefined ? undefined : developmentCertificateFiles(location).cert;
  const file = kept ?? 'certificate.pem';
  return [
    '',
    kept === undefined
      ? '  Clients have to trust this certificate, which ends with the server; keep it in a file:'
      : `  Clients have to trust this certificate, which is kept in ${kept}:`,
    certificate.trimEnd(),
    `  Node.js     NODE_EXTRA_CA_CERTS=${file}`,
    `  Python      connection_verify="${file}", or REQUESTS_CA_BUNDLE=${file}`,
    `  curl        curl --cacert ${file}`,
    '  .NET, Java  add it to the trust store of the system or of the JDK (keytool -importcert)',
  ];
}
