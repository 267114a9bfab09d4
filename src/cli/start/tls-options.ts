import { X509Certificate } from 'node:crypto';
import { Option } from 'commander';
import { developmentCertificateFiles } from '../../app/tls/development-certificate.js';
import type { ServerOptions, TlsOptions } from '../../app/index.js';
import { UsageError } from '../failure.js';

export interface TlsFlags {
  readonly tls?: 'self-signed';
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsPfx?: string;
  readonly tlsPassphraseFile?: string;
  /** Those of Azurite. */
  readonly cert?: string;
  readonly key?: string;
  readonly pwd?: string;
}

const group = 'https:';

export function tlsOptions(): Option[] {
  const options = [
    new Option('--tls <how>', 'self-signed: make a certificate for development, and keep it')
      .env('TABULARIUM_TLS')
      .choices(['self-signed']),
    new Option(
      '--tls-cert <file>',
      'the certificate in PEM, and those between it and its authority; followed when it changes',
    ).env('TABULARIUM_TLS_CERT'),
    new Option('--tls-key <file>', 'the key of the certificate, in PEM').env('TABULARIUM_TLS_KEY'),
    new Option('--tls-pfx <file>', 'certificate and key in one file (PFX, PKCS #12)').env(
      'TABULARIUM_TLS_PFX',
    ),
    new Option(
      '--tls-passphrase-file <file>',
      'a file with the passphrase of the key (or the passphrase in TABULARIUM_TLS_PASSPHRASE)',
    ).env('TABULARIUM_TLS_PASSPHRASE_FILE'),
  ];
  return options.map((option) => option.helpGroup(group));
}

/** How Azurite says the same. */
export function azuriteTlsOptions(): Option[] {
  return [
    new Option('--cert <file>', 'as --tls-cert with --key, or else as --tls-pfx'),
    new Option('--key <file>', 'as --tls-key'),
    new Option(
      '--pwd <text>',
      'the passphrase; others on the machine can see it: prefer --tls-passphrase-file',
    ),
  ];
}

/** What says which certificate; options on the command line replace variables, all of them. */
const certificateFlags = ['tls', 'tlsCert', 'tlsKey', 'tlsPfx', 'cert', 'key'] as const;

/** Throws `UsageError`. `isGiven` tells whether an option was on the command line. */
export function tlsSettings(
  flags: TlsFlags,
  isGiven: (attribute: string) => boolean,
): Pick<ServerOptions, 'tls'> {
  const onlyGiven = certificateFlags.some(isGiven);
  const valueOf = (name: (typeof certificateFlags)[number]): string | undefined =>
    onlyGiven && !isGiven(name) ? undefined : flags[name];
  const cert = valueOf('tlsCert') ?? valueOf('cert');
  const key = valueOf('tlsKey') ?? valueOf('key');
  const isPfx = key === undefined && valueOf('cert') !== undefined;
  const pfx = valueOf('tlsPfx') ?? (isPfx ? valueOf('cert') : undefined);
  const tls = choose({ how: valueOf('tls'), cert: isPfx ? undefined : cert, key, pfx }, flags);
  return tls === undefined ? {} : { tls };
}

interface Chosen {
  readonly how: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly pfx: string | undefined;
}

function choose({ how, cert, key, pfx }: Chosen, flags: TlsFlags): TlsOptions | undefined {
  const isPem = cert !== undefined || key !== undefined;
  const ways = [how !== undefined, isPem, pfx !== undefined].filter(Boolean).length;
  if (ways > 1) {
    throw new UsageError(
      '--tls self-signed, --tls-cert with --tls-key, and --tls-pfx exclude each other: give one.',
    );
  }
  if (how !== undefined) return 'self-signed';
  if (pfx !== undefined) return { pfx, ...passphraseOf(flags) };
  if (cert !== undefined && key !== undefined) return { cert, key, ...passphraseOf(flags) };
  if (isPem) {
    const [given, missing] = cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    throw new UsageError(
      `--tls-${given} needs --tls-${missing} as well. For both in one file give --tls-pfx.`,
    );
  }
  if (flags.tlsPassphraseFile === undefined && flags.pwd === undefined) return undefined;
  throw new UsageError('A passphrase opens a key: give --tls-cert and --tls-key, or --tls-pfx.');
}

function passphraseOf({ tlsPassphraseFile, pwd }: TlsFlags): {
  readonly passphrase?: string;
  readonly passphraseFile?: string;
} {
  if (tlsPassphraseFile !== undefined && pwd !== undefined) {
    throw new UsageError('--tls-passphrase-file and --pwd exclude each other: give one of them.');
  }
  if (tlsPassphraseFile !== undefined) return { passphraseFile: tlsPassphraseFile };
  const passphrase = pwd ?? process.env['TABULARIUM_TLS_PASSPHRASE'];
  return passphrase === undefined ? {} : { passphrase };
}

/** The certificate that is shown, as lines of the banner. */
export function tlsLines(certificate: string | undefined): string[] {
  if (certificate === undefined) return [];
  const { fingerprint256, validTo } = new X509Certificate(certificate);
  return [`  TLS         SHA-256 ${fingerprint256}`, `              until ${validTo}`];
}

/** How clients come to trust a certificate that was made for development. */
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
