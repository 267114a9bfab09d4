import {
  choice,
  either,
  instance,
  member,
  object,
  shapeOf,
  text,
  type Shape,
} from '../../base/shape/shape.js';
import type { PemOptions, PfxOptions, TlsOptions } from './tls-settings.js';
import { option } from './option.js';

type TlsInput = Partial<Omit<PemOptions, 'kind'> & PfxOptions>;

const certificate: Shape<TlsInput> = object<TlsInput>({
  cert: member(
    text(),
    'The certificate in PEM, and those between it and its authority.',
    'server.crt',
  ),
  key: member(text(), 'The key of the certificate, in PEM.', 'server.key'),
  pfx: member(
    either([instance<Uint8Array>('bytes'), text()]),
    'Certificate and key in one file (PKCS #12).',
    'server.pfx',
  ),
  passphrase: member(
    text({ charactersMin: 0, isSecret: true }),
    'The passphrase of the key.',
    'secret',
    'program',
  ),
  passphraseFile: member(
    text(),
    'A file with the passphrase of the key.',
    '/run/secrets/tls-passphrase',
  ),
});

const tls: Shape<TlsOptions> = shapeOf(
  either([choice(['self-signed']), certificate], {
    expected: 'self-signed, or an object with cert and key, or with pfx',
  }),
);

export const tlsOptions = {
  /** Speak https instead of http, on every port. Default: http. */
  tls: option({
    shape: tls,
    help:
      'speak https: self-signed, a certificate for development; or files, which are followed when ' +
      'they change',
    defaultWords: 'http',
    group: 'https:',
    flags: [
      {
        spelling: '--tls <how>',
        form: 'text',
        shape: choice(['self-signed']),
        help: 'self-signed: make a certificate for development, and keep it',
        variable: 'TABULARIUM_TLS',
      },
      {
        spelling: '--tls-cert <file>',
        form: 'text',
        part: 'cert',
        help: 'the certificate in PEM, and those between it and its authority; followed when it changes',
        variable: 'TABULARIUM_TLS_CERT',
      },
      {
        spelling: '--tls-key <file>',
        form: 'text',
        part: 'key',
        help: 'the key of the certificate, in PEM',
        variable: 'TABULARIUM_TLS_KEY',
      },
      {
        spelling: '--tls-pfx <file>',
        form: 'text',
        part: 'pfx',
        help: 'certificate and key in one file (PFX, PKCS #12)',
        variable: 'TABULARIUM_TLS_PFX',
      },
      {
        spelling: '--tls-passphrase-file <file>',
        form: 'text',
        part: 'passphraseFile',
        help: 'a file with the passphrase of the key (or the passphrase in TABULARIUM_TLS_PASSPHRASE)',
        variable: 'TABULARIUM_TLS_PASSPHRASE_FILE',
        otherVariables: 'or `TABULARIUM_TLS_PASSPHRASE`',
      },
      {
        spelling: '--cert <file>',
        form: 'text',
        part: 'cert',
        help: 'as --tls-cert with --key, or else as --tls-pfx',
        isOfAzurite: true,
      },
      {
        spelling: '--key <file>',
        form: 'text',
        part: 'key',
        help: 'as --tls-key',
        isOfAzurite: true,
      },
      {
        spelling: '--pwd <text>',
        form: 'text',
        part: 'passphraseFile',
        help: 'the passphrase; others on the machine can see it: prefer --tls-passphrase-file',
        isOfAzurite: true,
      },
    ],
    file: {
      member: 'tls',
      paths: ['cert', 'key', 'pfx', 'passphraseFile'],
      help:
        'speak https: self-signed, a certificate for development; or files, relative to this one, ' +
        'which are followed when they change',
      example: { cert: 'server.crt', key: 'server.key' },
    },
    reloads: true,
    page: 'tls.md',
  }),
};
