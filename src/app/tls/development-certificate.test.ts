import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { open, readFile, readdir, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { TlsFolder } from '../../../test/support/tls-files.js';
import { systemRandomness as randomness } from '../../base/randomness.js';
import {
  developmentCertificateFiles,
  keepDevelopmentPair,
  makeDevelopmentPair,
} from './development-certificate.js';

const dayMs = 24 * 60 * 60 * 1000;
const nowMs = Date.now();
const names = { hosts: ['0.0.0.0', '10.1.2.3', 'storage.example'], accounts: ['mine'] };

describe('the certificate for development', () => {
  it('is for the names of the server, no authority, and good for at most 825 days', async () => {
    const { cert } = await makeDevelopmentPair(names, { nowMs, randomness });
    const certificate = new X509Certificate(cert);
    for (const name of ['localhost', 'mine.localhost', 'x.queue.localhost', 'storage.example']) {
      assert.equal(certificate.checkHost(name) !== undefined, true, name);
    }
    for (const address of ['127.0.0.1', '::1', '10.1.2.3']) {
      assert.equal(certificate.checkIP(address), address);
    }
    assert.equal(certificate.checkIP('0.0.0.0'), undefined);
    assert.equal(certificate.ca, false);
    const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
    assert.ok(from < nowMs && to - from <= 825 * dayMs);
    assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, 'prime256v1');
  });

  it('leaves no other file when it cannot be written', async (t) => {
    await using folder = await TlsFolder.make();
    const files = developmentCertificateFiles(folder.path);
    await keepDevelopmentPair(files, names, { nowMs, randomness });
    const before = await readFile(files.cert, 'utf8');
    const handle = await open(files.cert);
    const prototype = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const full = new Error('ENOSPC: no space left on device');
    t.mock.method(prototype, 'writeFile', () => Promise.reject(full));
    const later = { nowMs: nowMs + 820 * dayMs, randomness };
    for (const _ of [1, 2]) await assert.rejects(keepDevelopmentPair(files, names, later), full);
    assert.equal(await readFile(files.cert, 'utf8'), before);
    const left = await readdir(dirname(files.cert));
    assert.deepEqual(left.toSorted(), ['certificate.pem', 'key.pem']);
  });

  it('is kept, and its key for nobody else', async () => {
    await using folder = await TlsFolder.make();
    const files = developmentCertificateFiles(folder.path);
    assert.equal(await keepDevelopmentPair(files, names, { nowMs, randomness }), true);
    const before = await readFile(files.cert, 'utf8');
    assert.equal(await keepDevelopmentPair(files, names, { nowMs, randomness }), false);
    assert.equal(await readFile(files.cert, 'utf8'), before);
    if (process.platform !== 'win32') assert.equal((await stat(files.key)).mode & 0o777, 0o600);
    assert.deepEqual((await readdir(dirname(files.cert))).toSorted(), [
      'certificate.pem',
      'key.pem',
    ]);
  });

  it('is made again before it ends, for other names, and when it has lost its key', async () => {
    await using folder = await TlsFolder.make();
    const files = developmentCertificateFiles(folder.path);
    const keep = (more: object = {}, at = nowMs) =>
      keepDevelopmentPair(files, { ...names, ...more }, { nowMs: at, randomness });
    await keep();
    assert.equal(await keep({}, nowMs + 789 * dayMs), false);
    assert.equal(await keep({}, nowMs + 791 * dayMs), true);
    assert.equal(await keep(), true, 'that one is not valid yet');
    assert.equal(await keep({ accounts: ['mine', 'other'] }), true);
    const { key } = await makeDevelopmentPair(names, { nowMs, randomness });
    await folder.put('tls/key.pem', key);
    assert.equal(await keep(), true);
    await folder.put('tls/certificate.pem', 'noise');
    assert.equal(await keep(), true);
    assert.equal(await keep(), false);
  });
});
