import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answers, runInView, succeeds } from './process.js';

const tests = fileURLToPath(new URL('../../test/interop/rust', import.meta.url));
/** What is compiled belongs outside of the sources. */
const env = { ...process.env, CARGO_TARGET_DIR: join(tmpdir(), 'tabularium-interop-rust') };

export const rust = {
  name: 'rust',
  clients: ['azure_storage_queue 1.1.0', 'azure_storage_sas 1.0.0'],
  /** The client speaks TLS with the OpenSSL of the system. */
  missing() {
    if (!answers('cargo', ['--version'])) return 'it needs Rust 1.88 or newer with Cargo';
    if (!answers('pkg-config', ['--exists', 'openssl'])) return 'it needs the headers of OpenSSL';
    return undefined;
  },
  prepare: () =>
    succeeds('cargo', ['test', '--locked', '--no-run', '--quiet'], { cwd: tests, env }),
  run: (settings) =>
    runInView('cargo', ['test', '--locked', '--quiet'], {
      cwd: tests,
      env: { ...settings, ...env, SSL_CERT_FILE: settings.TABULARIUM_CA },
    }),
};
