import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket, type SecureContext } from 'node:tls';
import { codeOf, messageOf } from '../../base/thrown.js';
import { FileReadError, readRegularFile, type FileProblem } from '../../base/regular-file.js';
import { ServerOptionsError } from '../options/server-options-error.js';
import type { TlsChoice, TlsSource } from '../options/tls-settings.js';

/** A matching certificate and key that the TLS library accepts. */
export interface Identity {
  readonly context: SecureContext;
  /** The server's own certificate. */
  readonly certificate: X509Certificate;
  /** PEM: as given, or the server's certificate alone. */
  readonly pem: string;
}

type PemChoice = Extract<TlsChoice, { readonly kind: 'pem' }>;
type PfxChoice = Extract<TlsChoice, { readonly kind: 'pfx' }>;

/** Throws `ServerOptionsError`, which names the invalid file and what would be accepted. */
export function loadIdentity(choice: PemChoice | PfxChoice): Promise<Identity> {
  return choice.kind === 'pem' ? loadPem(choice) : loadPfx(choice);
}

async function loadPem({ cert, key, passphrase }: PemChoice): Promise<Identity> {
  const names = { cert: nameOf(cert, 'certificate'), key: nameOf(key, 'key') };
  const [certBytes, keyBytes, opener] = await Promise.all([
    read(cert, names.cert),
    read(key, names.key),
    readPassphrase(passphrase),
  ]);
  const pem = certBytes.toString('utf8');
  const certificate = parseCertificate(pem, names.cert);
  const keyObject = parseKey(keyBytes.toString('utf8'), opener, names.key);
  if (!certificate.checkPrivateKey(keyObject)) {
    throw new ServerOptionsError(
      `${names.key} does not belong to the first certificate of ${lowerFirst(names.cert)}. Give ` +
        'the two that were made together; the certificate of the server comes before those of ' +
        'its authorities.',
    );
  }
  const context = contextOf(
    { cert: pem, key: keyObject.export({ type: 'pkcs8', format: 'pem' }) },
    names.cert,
  );
  return { context, certificate, pem };
}

function parseCertificate(pem: string, name: string): X509Certificate {
  try {
    if (pem.includes('-----BEGIN CERTIFICATE-----')) return new X509Certificate(pem);
  } catch (error) {
    throw new ServerOptionsError(`${name} is damaged: ${messageOf(error)}. Make it again.`, {
      cause: error,
    });
  }
  const hint = pem.includes('PRIVATE KEY-----') ? ' It holds a key: are the two swapped?' : '';
  throw new ServerOptionsError(
    `${name} holds no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----.${hint}`,
  );
}

function parseKey(pem: string, passphrase: string | undefined, name: string): KeyObject {
  try {
    return createPrivateKey({
      key: pem,
      ...(passphrase === undefined ? {} : { passphrase }),
    });
  } catch (error) {
    const isClosed = passphrase === undefined && pem.includes('ENCRYPTED');
    const problem = isClosed ? 'is encrypted. Give its passphrase.' : keyProblem(pem, error);
    throw new ServerOptionsError(`${name} ${problem}`, { cause: error });
  }
}

function keyProblem(pem: string, error: unknown): string {
  switch (codeOf(error)) {
    case 'ERR_OSSL_BAD_DECRYPT':
    case 'ERR_OSSL_EVP_BAD_DECRYPT':
      return 'is not opened by the passphrase. Give the one that it was encrypted with.';
    default:
      return pem.includes('PRIVATE KEY-----')
        ? `cannot be read: ${messageOf(error)}. Make it again.`
        : 'holds no key in PEM, which has a line such as -----BEGIN PRIVATE KEY-----.';
  }
}

async function loadPfx({ pfx, passphrase }: PfxChoice): Promise<Identity> {
  const name = nameOf(pfx, 'PFX');
  const [bytes, opener] = await Promise.all([read(pfx, name), readPassphrase(passphrase)]);
  const opened = opener === undefined ? {} : { passphrase: opener };
  const context = contextOf({ pfx: bytes, ...opened }, name);
  const certificate = certificateOf(context);
  if (certificate === undefined) {
    throw new ServerOptionsError(`${name} holds no certificate with a key. Export both into it.`);
  }
  return { context, certificate, pem: certificate.toString() };
}

/** The TLS parameters: in TLS 1.2 only suites with forward secrecy and authenticated encryption. */
const terms = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'TLS_AES_128_GCM_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
} as const;

function contextOf(
  parts: Parameters<typeof createSecureContext>[0] & object,
  name: string,
): SecureContext {
  try {
    return createSecureContext({ ...parts, ...terms, sessionIdContext: 'tabularium' });
  } catch (error) {
    throw new ServerOptionsError(`${name} ${contextProblem(error)}`, { cause: error });
  }
}

function contextProblem(error: unknown): string {
  const text = messageOf(error);
  if (/mac verify failure|bad decrypt/i.test(text)) {
    return 'is not opened by the passphrase. Give the one that it was exported with.';
  }
  if (/unsupported/i.test(text)) {
    return (
      'is encrypted in a way of old tools that is not safe. Export it again, with: openssl ' +
      'pkcs12 -export -keypbe AES-256-CBC -certpbe AES-256-CBC -macalg SHA256'
    );
  }
  if (/not enough data|wrong tag|asn1|header too long/i.test(text)) {
    return 'is no PFX (PKCS #12). For files in PEM, give certificate and key.';
  }
  return `cannot be used for TLS: ${text}.`;
}

/** The certificate of a context. */
function certificateOf(secureContext: SecureContext): X509Certificate | undefined {
  const nowhere = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  const socket = new TLSSocket(nowhere, { isServer: true, secureContext });
  const certificate = socket.getX509Certificate();
  socket.destroy();
  return certificate;
}

async function readPassphrase(source: TlsSource | undefined): Promise<string | undefined> {
  if (source === undefined) return undefined;
  const bytes = await read(source, nameOf(source, 'passphrase'));
  return bytes.toString('utf8').replace(/\r?\n$/, '');
}

/** The name of a source in messages. */
function nameOf(source: TlsSource, what: string): string {
  return source.kind === 'file' ? `The ${what} file ${source.path}` : `The ${what}`;
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

async function read(source: TlsSource, name: string): Promise<Buffer> {
  if (source.kind === 'given') return Buffer.from(source.bytes);
  try {
    return await readRegularFile(source.path, tlsFileBytesMax);
  } catch (error) {
    if (!(error instanceof FileReadError)) throw error;
    throw new ServerOptionsError(`${name} ${error.reason}. ${adviceOf[error.problem]}`.trimEnd(), {
      cause: error,
    });
  }
}

/** Larger than a chain of a hundred certificates with large keys. */
export const tlsFileBytesMax = 1024 * 1024;

const adviceOf: Readonly<Record<FileProblem, string>> = {
  absent: 'Check the path.',
  forbidden: 'Change who may read it: the server reads it as the user that it runs as.',
  directory: 'Give the file in it.',
  'not-regular': 'Give the path of a file that holds it.',
  'too-large': 'Check the path.',
  failed: '',
};
