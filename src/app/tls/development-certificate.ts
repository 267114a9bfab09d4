import { createPrivateKey, X509Certificate } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { FileReadError, readRegularFile } from '../../base/regular-file.js';
import { makeDirectory } from '../../base/make-directory.js';
import { privateDirectoryMode, privateFileMode } from '../../base/private-files.js';
import type { Randomness } from '../../base/randomness.js';

/** A certificate and its key, in PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** The files of the pair. */
export interface KeyPairFiles {
  readonly cert: string;
  readonly key: string;
}

/** The names that a development certificate must cover. */
export interface DevelopmentNames {
  /** The listen addresses and names. */
  readonly hosts: readonly string[];
  readonly accounts: readonly string[];
}

const dayMs = 24 * 60 * 60 * 1000;
/** Some clients refuse certificates that are valid for more than 825 days. */
const validMs = 820 * dayMs;
/** Starts a day earlier, for clients with a slow clock. */
const sinceMs = dayMs;
/** A certificate with less remaining validity is replaced. */
export const renewBeforeMs = 30 * dayMs;
const accountsMax = 100;
/** Larger than any such certificate. */
const pairFileBytesMax = 256 * 1024;

/** The files of the development certificate in a data directory. */
export function developmentCertificateFiles(directory: string): KeyPairFiles {
  return {
    cert: join(directory, 'tls', 'certificate.pem'),
    key: join(directory, 'tls', 'key.pem'),
  };
}

export interface DevelopmentPairOptions {
  readonly nowMs: number;
  readonly randomness: Randomness;
}

/** Creates a pair for this machine and for names under `.localhost`. */
export async function makeDevelopmentPair(
  names: DevelopmentNames,
  { nowMs, randomness }: DevelopmentPairOptions,
): Promise<KeyPair> {
  // Loaded on demand: few servers need it, and loading takes a third of a second.
  const { generate } = await import('selfsigned');
  // Clients look up trusted certificates by this name, so it must be unique.
  const commonName = `Tabularium development ${randomness.uuid().slice(0, 8)}`;
  const made = await generate([{ name: 'commonName', value: commonName }], {
    keyType: 'ec',
    curve: 'P-256',
    algorithm: 'sha256',
    notBeforeDate: new Date(nowMs - sinceMs),
    notAfterDate: new Date(nowMs + validMs),
    extensions: [
      // Not an authority: trusting it means trusting only this server.
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: allNames(names).map((name) =>
          isIP(name) === 0 ? { type: 2, value: name } : { type: 7, ip: name },
        ),
      },
    ],
  });
  return { cert: `${made.cert.trim()}\n`, key: made.private };
}

function allNames(names: DevelopmentNames): readonly string[] {
  const machine = hostname();
  return Array.from(
    new Set([
      ...neededNames(names),
      '*.localhost',
      '*.table.localhost',
      '*.queue.localhost',
      ...(isHostName(machine) ? [machine] : []),
    ]),
  );
}

/** Names without which clients would refuse the certificate. */
function neededNames({ hosts, accounts }: DevelopmentNames): readonly string[] {
  const own = hosts.filter((host) => !everyAddress.has(host));
  return [
    'localhost',
    '127.0.0.1',
    '::1',
    // Some clients accept no wildcard directly before the last label.
    ...accounts.slice(0, accountsMax).map((account) => `${account}.localhost`),
    ...own.filter((host) => isIP(host) !== 0 || isHostName(host)),
  ];
}

const everyAddress: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

function isHostName(text: string): boolean {
  return text.length <= 253 && /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(text);
}

/**
 * Ensures that the files hold a pair that covers these names and is valid for a while, so that
 * restarts keep it. Resolves with true when it was created.
 */
export async function keepDevelopmentPair(
  files: KeyPairFiles,
  names: DevelopmentNames,
  { nowMs, randomness }: DevelopmentPairOptions,
): Promise<boolean> {
  const found = await readPair(files);
  if (found !== undefined && isGood(found, names, nowMs)) return false;
  const pair = await makeDevelopmentPair(names, { nowMs, randomness });
  makeDirectory(join(files.cert, '..'), privateDirectoryMode);
  // The key is written first: a key without its certificate shows an interrupted attempt.
  await replaceFile(files.key, pair.key, { mode: privateFileMode, randomness });
  await replaceFile(files.cert, pair.cert, { mode: 0o644, randomness });
  return true;
}

async function readPair(files: KeyPairFiles): Promise<KeyPair | undefined> {
  try {
    const [cert, key] = await Promise.all([
      readRegularFile(files.cert, pairFileBytesMax),
      readRegularFile(files.key, pairFileBytesMax),
    ]);
    return { cert: cert.toString('utf8'), key: key.toString('utf8') };
  } catch (error) {
    if (error instanceof FileReadError && error.problem === 'absent') return undefined;
    throw error;
  }
}

function isGood({ cert, key }: KeyPair, names: DevelopmentNames, nowMs: number): boolean {
  try {
    const certificate = new X509Certificate(cert);
    return (
      certificate.checkPrivateKey(createPrivateKey(key)) &&
      Date.parse(certificate.validFrom) <= nowMs &&
      Date.parse(certificate.validTo) - nowMs > renewBeforeMs &&
      neededNames(names).every((name) => covers(certificate, name))
    );
  } catch {
    return false;
  }
}

function covers(certificate: X509Certificate, name: string): boolean {
  const found = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name);
  return found !== undefined;
}

/** Replaces a file atomically. Leaves no other file when it fails. */
async function replaceFile(
  path: string,
  text: string,
  { mode, randomness }: { readonly mode: number; readonly randomness: Randomness },
): Promise<void> {
  const unfinished = `${path}.new-${randomness.uuid()}`;
  const file = await open(unfinished, 'wx', mode);
  try {
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}
