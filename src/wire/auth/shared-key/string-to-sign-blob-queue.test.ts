import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { queueStringToSign } from '../../../../test/wire/kit/queue-signature.js';
import { StorageError } from '../../../model/errors/storage-error.js';
import type { SharedKeyScheme } from './shared-key-credential.js';
import { signRequest, verifySharedKey } from './shared-key.js';
import type { BlobQueueSignedRequest } from './signed-request.js';
import { blobQueueStringsToSign } from './string-to-sign-blob-queue.js';

const name = 'devstoreaccount1';
const secret =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const key = createSecretKey(Buffer.from(secret, 'base64'));
const otherKey = createSecretKey(Buffer.from('another key'));
const date = 'Fri, 01 Mar 2024 12:00:00 GMT';
const nowMicros = Date.UTC(2024, 2, 1, 12) * 1000;
const latest = '2021-12-02';

interface Described {
  readonly method?: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly version?: string;
}

/** A request as it arrives: headers flat and in the order given, after the two of every client. */
function requestOf({ method = 'GET', target, headers = {}, version = latest }: Described) {
  const [rawPath = '', rawQuery = ''] = target.split('?');
  const all = { 'x-ms-date': date, 'x-ms-version': version, ...headers };
  const form = 'blob-queue' as const;
  return { form, method, rawPath, rawQuery, version, headers: Object.entries(all).flat() };
}

function texts(scheme: SharedKeyScheme, described: Described, account = name): string[] {
  return [...blobQueueStringsToSign(scheme, account, requestOf(described))].map(({ text }) => text);
}

function firstText(described: Described, scheme: SharedKeyScheme = 'SharedKey'): string {
  return texts(scheme, described)[0] ?? '';
}

function isAccepted(
  request: BlobQueueSignedRequest,
  signature: string,
  scheme: SharedKeyScheme = 'SharedKey',
  account = name,
): boolean {
  const credential = { kind: 'shared-key', scheme, account, signature } as const;
  const holder = { name: account, keys: [otherKey, key] };
  try {
    verifySharedKey(credential, holder, request, { skewCheckedAtMicros: nowMicros });
    return true;
  } catch (error) {
    assert.ok(error instanceof StorageError && error.code === 'AuthenticationFailed');
    return false;
  }
}

/** `text` with the character at `index` replaced by one that the vectors do not have. */
function altered(text: string, index: number): string {
  return `${text.slice(0, index)}${text[index] === 'Z' ? 'Y' : 'Z'}${text.slice(index + 1)}`;
}

interface Vector extends Described {
  readonly title: string;
  readonly scheme: SharedKeyScheme;
  readonly account: string;
  readonly text: string;
  readonly signature: string;
}

/** See queue-service §13, blob-service §23. */
const vectors: readonly Vector[] = [
  {
    title: 'Shared Key, path style, with a query',
    scheme: 'SharedKey',
    account: name,
    target: `/${name}/q1/messages?numofmessages=2&visibilitytimeout=60`,
    text: `GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:${date}\nx-ms-version:2021-12-02\n/devstoreaccount1/devstoreaccount1/q1/messages\nnumofmessages:2\nvisibilitytimeout:60`,
    signature: '0eYYHwYwBJe61wOSNZMUpDJYbIVKjGQaeZmqP8vsaxs=',
  },
  {
    title: 'Shared Key, host style, with metadata and no body',
    scheme: 'SharedKey',
    account: 'myaccount',
    method: 'PUT',
    target: '/q1',
    headers: { 'x-ms-meta-colour': 'blue', 'Content-Length': '0' },
    text: `PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:${date}\nx-ms-meta-colour:blue\nx-ms-version:2021-12-02\n/myaccount/q1`,
    signature: 'nX+hBzbDrHWVH1b9C5tTVStKJRYh16G4BIm6+nPYosk=',
  },
  {
    title: 'Shared Key Lite, path style',
    scheme: 'SharedKeyLite',
    account: name,
    target: `/${name}/?comp=list`,
    text: `GET\n\n\n\nx-ms-date:${date}\nx-ms-version:2021-12-02\n/devstoreaccount1/devstoreaccount1/?comp=list`,
    signature: 'mVae1Xnmafh3NvtPcWttCXtIvzlyYGhTKnK37p9yYKc=',
  },
  {
    title: 'Shared Key, a blob with an encoded name and a body',
    scheme: 'SharedKey',
    account: name,
    method: 'PUT',
    target: `/${name}/c1/dir/a%20b.txt`,
    headers: {
      'Content-Length': '11',
      'Content-Type': 'text/plain',
      'x-ms-blob-type': 'BlockBlob',
    },
    text: `PUT\n\n\n11\n\ntext/plain\n\n\n\n\n\n\nx-ms-blob-type:BlockBlob\nx-ms-date:${date}\nx-ms-version:2021-12-02\n/devstoreaccount1/devstoreaccount1/c1/dir/a%20b.txt`,
    signature: 'RAUGNTbC3zq/1hnH3uEVs9Men6+B0v1Qk3lG/gxgsSI=',
  },
  {
    title: 'Shared Key, a list of blobs with a comma in its query',
    scheme: 'SharedKey',
    account: name,
    target: `/${name}/c1?restype=container&comp=list&prefix=dir/&include=metadata,snapshots`,
    text: `GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:${date}\nx-ms-version:2021-12-02\n/devstoreaccount1/devstoreaccount1/c1\ncomp:list\ninclude:metadata,snapshots\nprefix:dir/\nrestype:container`,
    signature: 'A5vsfE8YoC4qe+9C0h25GThDFWP1lzCLz12osMJiCzY=',
  },
];

describe('shared key vectors of queues and blobs', () => {
  for (const vector of vectors) {
    const { title, scheme, account, text, signature } = vector;
    const request = requestOf(vector);

    it(title, () => {
      assert.deepEqual(texts(scheme, vector, account), [text]);
      assert.equal(isAccepted(request, signature, scheme, account), true);
      assert.equal(
        signRequest(scheme, { name: account, key }, request),
        `${scheme} ${account}:${signature}`,
      );
    });

    it(`${title}: any other signature, path, query or header fails`, () => {
      const { rawPath, rawQuery, headers } = request;
      for (let index = 0; index < signature.length; index += 1)
        assert.equal(isAccepted(request, altered(signature, index), scheme, account), false);
      for (let index = 0; index < rawPath.length; index += 1) {
        const changed = { ...request, rawPath: altered(rawPath, index) };
        assert.equal(isAccepted(changed, signature, scheme, account), false);
      }
      for (let index = 0; index < rawQuery.length; index += 1) {
        const changed = { ...request, rawQuery: altered(rawQuery, index) };
        assert.equal(isAccepted(changed, signature, scheme, account), false);
      }
      const added = { ...request, headers: [...headers, 'x-ms-meta-more', 'x'] };
      assert.equal(isAccepted(added, signature, scheme, account), false);
    });
  }
});

describe('the lines of Shared Key', () => {
  const target = `/${name}/q`;
  const lines = (headers: Described['headers'], version = latest) =>
    firstText({ target, version, ...(headers && { headers }) })
      .split('\n')
      .slice(0, 12);

  it('are in the documented order, whatever the order and case of the headers', () => {
    const headers = {
      Range: 'range',
      'If-Unmodified-Since': 'unmodified',
      'if-none-match': 'none',
      'If-Match': 'match',
      'IF-MODIFIED-SINCE': 'modified',
      Date: 'ignored',
      'Content-Type': 'type',
      'Content-MD5': 'md5',
      'Content-Length': '12',
      'Content-Language': 'language',
      'Content-Encoding': 'encoding',
    };
    assert.deepEqual(lines(headers), [
      'GET',
      'encoding',
      'language',
      '12',
      'md5',
      'type',
      '',
      'modified',
      'match',
      'none',
      'unmodified',
      'range',
    ]);
  });

  it('hold Date only without x-ms-date', () => {
    const request = { ...requestOf({ target }), headers: ['Date', date, 'x-ms-version', latest] };
    const [first] = blobQueueStringsToSign('SharedKey', name, request);
    assert.equal(first?.text.split('\n')[6], date);
    assert.equal(first?.date, date);
    const lite = [...blobQueueStringsToSign('SharedKeyLite', name, request)][0];
    assert.equal(lite?.text, `GET\n\n\n${date}\nx-ms-version:${latest}\n/${name}${target}`);
  });

  it('hold a length of zero only before 2015-02-21', () => {
    const headers = { 'Content-Length': '0' };
    assert.equal(lines(headers, '2014-02-14')[3], '0');
    assert.equal(lines(headers, '2015-02-21')[3], '');
    assert.equal(lines({}, '2014-02-14')[3], '');
  });

  it('may have language before encoding', () => {
    const headers = { 'Content-Encoding': 'e', 'Content-Language': 'l' };
    const [documented, swapped, ...others] = texts('SharedKey', { target, headers });
    assert.equal(swapped, documented?.replace('e\nl\n', 'l\ne\n'));
    assert.deepEqual(others, []);
    assert.equal(texts('SharedKeyLite', { target, headers }).length, 1);
  });
});

describe('canonicalized headers', () => {
  const target = `/${name}/q`;
  const headersOf = (headers: Record<string, string>, version = latest) =>
    firstText({ target, headers, version }).split('\n').slice(12, -1);

  it('are trimmed and unfolded, names in lower case', () => {
    assert.deepEqual(
      headersOf({ 'X-MS-Meta-B': '  two \t', 'x-ms-meta-a': 'one\r\n  more \n\tand  more' }),
      [
        `x-ms-date:${date}`,
        'x-ms-meta-a:one more and  more',
        'x-ms-meta-b:two',
        `x-ms-version:${latest}`,
      ],
    );
  });

  it('have empty values from 2016-05-31 on', () => {
    const headers = { 'x-ms-meta-a': '' };
    assert.equal(headersOf(headers, '2016-05-31').length, 3);
    assert.ok(headersOf(headers, '2016-05-31').includes('x-ms-meta-a:'));
    assert.equal(headersOf(headers, '2015-12-11').length, 2);
  });

  it('may be sorted ordinally or as words', () => {
    const headers = { 'x-ms-meta-a1': '1', 'x-ms-meta-a_b': '2' };
    const [ordinal, words, ...others] = texts('SharedKey', { target, headers });
    const [one, two] = ['x-ms-meta-a1:1\n', 'x-ms-meta-a_b:2\n'];
    assert.ok(ordinal?.includes(one + two));
    assert.equal(words, ordinal?.replace(one + two, two + one));
    assert.deepEqual(others, []);
  });
});

describe('canonicalized resources', () => {
  const resourceOf = (target: string, scheme: SharedKeyScheme = 'SharedKey') => {
    const text = firstText({ target }, scheme);
    return text.slice(text.indexOf('\n/') + 1);
  };

  it('have the path as sent', () => {
    assert.equal(resourceOf('/acct'), `/${name}/acct`);
    assert.equal(resourceOf('/acct/'), `/${name}/acct/`);
    assert.equal(resourceOf('/'), `/${name}/`);
    assert.equal(resourceOf('/acct/%71/a%2Fb'), `/${name}/acct/%71/a%2Fb`);
  });

  it('have every parameter decoded, sorted by lower-case name and joined by value', () => {
    assert.equal(
      resourceOf('/q?timeout=30&B=2&a=x%2By%3D&b=10&A=&flag&&b=1'),
      `/${name}/q\na:,x+y=\nb:1,10,2\nflag:\ntimeout:30`,
    );
    assert.equal(resourceOf('/q?a=b=c'), `/${name}/q\na:b=c`);
    assert.equal(resourceOf('/q?%41%C3%84=%C3%84'), `/${name}/q\naä:Ä`);
  });

  it('of Shared Key Lite have comp and nothing else', () => {
    assert.equal(resourceOf('/q?timeout=3&Comp=acl&a=1', 'SharedKeyLite'), `/${name}/q?comp=acl`);
    assert.equal(resourceOf('/q?comp=', 'SharedKeyLite'), `/${name}/q?comp=`);
    assert.equal(resourceOf('/q?timeout=3', 'SharedKeyLite'), `/${name}/q`);
    assert.equal(resourceOf('/q?comp=b&comp=a', 'SharedKeyLite'), `/${name}/q?comp=b`);
  });

  it('may take + for a space', () => {
    const [plus, space, ...others] = texts('SharedKey', { target: '/q?a=b+c%2B' });
    assert.ok(plus?.endsWith('\na:b+c+'));
    assert.ok(space?.endsWith('\na:b c+'));
    assert.deepEqual(others, []);
  });

  it('of a secondary may name the primary', () => {
    const all = texts('SharedKey', { target: `/${name}-secondary/q?a=1` });
    const ends = all.map((text) => text.slice(text.indexOf('\n/') + 1));
    assert.deepEqual(ends, [`/${name}/${name}-secondary/q\na:1`, `/${name}/${name}/q\na:1`]);
    assert.equal(texts('SharedKey', { target: `/${name}-secondaryx/q` }).length, 1);
  });

  it('cannot have a parameter that is no UTF-8', () => {
    assert.throws(
      () => texts('SharedKey', { target: '/q?a=%ff' }),
      (error) => error instanceof StorageError && error.code === 'InvalidInput',
    );
  });
});

describe('a header that is signed', () => {
  for (const header of ['x-ms-meta-a', 'Content-Type', 'x-ms-date', 'Date', 'Range']) {
    it(`may not occur twice: ${header}`, () => {
      const request = requestOf({ target: '/q' });
      const upper = header.toUpperCase();
      const headers = [...request.headers, header, 'v', upper, 'w'];
      assert.throws(
        () => [...blobQueueStringsToSign('SharedKey', name, { ...request, headers })],
        (error) => {
          assert.ok(error instanceof StorageError);
          assert.equal(error.code, 'InvalidHeaderValue');
          assert.deepEqual(error.details[0], ['HeaderName', header.toLowerCase()]);
          assert.ok(error.message.includes(header.toLowerCase()));
          return true;
        },
      );
    });
  }

  it('is none of the others', () => {
    const request = requestOf({ target: '/q' });
    const headers = [...request.headers, 'Accept', 'a', 'Accept', 'b', 'X-Other', 'c'];
    assert.equal(
      [...blobQueueStringsToSign('SharedKey', name, { ...request, headers })][0]?.text,
      firstText({ target: '/q' }),
    );
  });
});

const metadataNames = fc.string({
  unit: fc.constantFrom(...Array.from('abzABZ019_-')),
  minLength: 1,
  maxLength: 6,
});
const headerValues = fc.string({
  unit: fc.constantFrom(...Array.from('aZ09 ,;:=%+\tü')),
  maxLength: 8,
});
const queryTexts = fc.string({
  unit: fc.constantFrom(...Array.from('abAB01 ,;:=&%+/ü€')),
  maxLength: 6,
});

/** Requests with any parts that may be signed, not only those that clients send. */
/** A colon in a name is refused. */
const queryNames = queryTexts.map((text) => text.replaceAll(':', ''));

const requests = fc.record({
  method: fc.constantFrom('GET', 'PUT', 'POST', 'DELETE', 'HEAD'),
  path: fc.webPath(),
  query: fc.array(fc.tuple(queryNames, queryTexts), { maxLength: 5 }),
  comp: fc.constantFrom('', 'comp=list&', 'Comp=%61cl&'),
  metadata: fc.uniqueArray(fc.tuple(metadataNames, headerValues), {
    selector: ([name]) => name.toLowerCase(),
    maxLength: 5,
  }),
  standard: fc.dictionary(
    fc.constantFrom('Content-Length', 'Content-MD5', 'Content-Type', 'If-Match', 'Range', 'Date'),
    fc.constantFrom('0', '12', 'text/plain', date),
  ),
  version: fc.constantFrom('2009-09-19', '2014-02-14', '2015-02-21', '2016-05-31', latest),
  scheme: fc.constantFrom<SharedKeyScheme>('SharedKey', 'SharedKeyLite'),
});

type Arbitrary = typeof requests extends fc.Arbitrary<infer T> ? T : never;

function described({ method, path, query, comp, metadata, standard, version }: Arbitrary) {
  const encoded = query
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .join('&');
  const meta = metadata.map(([name, value]): [string, string] => [`x-ms-meta-${name}`, value]);
  const target = `/${name}${path}?${comp}${encoded}`;
  return { method, target, version, headers: { ...standard, ...Object.fromEntries(meta) } };
}

describe('any request', () => {
  it('has the text that the protocol describes', () => {
    fc.assert(
      fc.property(requests, (arbitrary) => {
        const request = described(arbitrary);
        const expected = queueStringToSign({
          scheme: arbitrary.scheme,
          account: name,
          key: secret,
          method: request.method,
          target: request.target,
          headers: { 'x-ms-date': date, 'x-ms-version': request.version, ...request.headers },
        });
        assert.equal(firstText(request, arbitrary.scheme), expected);
      }),
      { numRuns: 166 },
    );
  });

  it('is accepted with any of the texts that clients sign, and only in time', () => {
    fc.assert(
      fc.property(requests, fc.nat(), (arbitrary, choice) => {
        const request = requestOf(described(arbitrary));
        const all = [...blobQueueStringsToSign(arbitrary.scheme, name, request)];
        const { scheme } = arbitrary;
        const header = signRequest(scheme, { name, key }, request);
        assert.equal(isAccepted(request, header.slice(header.indexOf(':') + 1), scheme), true);
        assert.equal(new Set(all.map(({ text }) => text)).size, all.length);
        assert.ok(all[choice % all.length]?.date === date);
      }),
    );
  });
});
