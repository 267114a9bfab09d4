import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemRandomness } from '../../src/base/randomness.js';
import { makeDevelopmentPair, type KeyPair } from '../../src/app/tls/development-certificate.js';

const run = promisify(execFile);
const dayMs = 24 * 60 * 60 * 1000;

/** Why tests that need the openssl command are skipped; false when they are not. */
export const withoutOpenssl =
  spawnSync('openssl', ['version']).status === 0 ? false : 'there is no openssl command here';

/** A certificate and its key, valid from some days ago. */
export function makePair(daysAgo = 0): Promise<KeyPair> {
  const nowMs = Date.now() - daysAgo * dayMs;
  return makeDevelopmentPair({ hosts: [], accounts: [] }, { nowMs, randomness: systemRandomness });
}

/** A folder for certificates that is removed in the end. */
export class TlsFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<TlsFolder> {
    return new TlsFolder(await mkdtemp(join(tmpdir(), 'tabularium-tls-')));
  }

  /** Writes a file atomically, replacing any other. */
  async put(name: string, text: string | Buffer): Promise<string> {
    const path = join(this.path, name);
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
    return path;
  }

  /** Writes the pair as files for options. */
  async putPair({ cert, key }: KeyPair): Promise<{ readonly cert: string; readonly key: string }> {
    return { cert: await this.put('cert.pem', cert), key: await this.put('key.pem', key) };
  }

  /** Writes the pair as one PKCS #12 file, made by openssl. */
  async putPfx(pair: KeyPair, passphrase: string): Promise<string> {
    const { cert, key } = await this.putPair(pair);
    const out = join(this.path, 'pair.pfx');
    const pass = `pass:${passphrase}`;
    const args = ['pkcs12', '-export', '-in', cert, '-inkey', key, '-out', out, '-passout', pass];
    await run('openssl', args);
    return out;
  }

  /** Writes the key, encrypted by openssl. */
  async encryptedKey(pair: KeyPair, passphrase: string): Promise<string> {
    const { key } = await this.putPair(pair);
    const out = join(this.path, 'encrypted.pem');
    const pass = `pass:${passphrase}`;
    await run('openssl', ['pkcs8', '-topk8', '-in', key, '-out', out, '-passout', pass]);
    return readFile(out, 'utf8');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.path, { recursive: true, force: true });
  }
}
