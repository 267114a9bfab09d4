import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../../model/errors/storage-error.js';
import type { SharedKeyScheme } from './shared-key-credential.js';
import { signatureMatches } from './hmac-signature.js';
import { clockSkewMsMax, isDateWithinSkew, signRequest, verifySharedKey } from './shared-key.js';
import type { TableSignedRequest } from './signed-request.js';
import { tableStringsToSign } from './string-to-sign-table.js';

const name = 'devstoreaccount1';
const secret =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const key = createSecretKey(Buffer.from(secret, 'base64'));
const otherKey = createSecretKey(Buffer.from('another key'));
const date = 'Fri, 21 Nov 2025 10:00:00 GMT';
const otherDate = 'Fri, 21 Nov 2025 10:00:01 GMT';
const nowMicros = Date.UTC(2025, 10, 21, 10) * 1000;

const base: TableSignedRequest = {
  form: 'table',
  method: 'GET',
  rawPath: `/${name}/Tables`,
  comp: undefined,
  contentMd5: undefined,
  contentType: undefined,
  xMsDate: date,
  date: undefined,
};

interface Vector {
  readonly title: string;
  readonly scheme: SharedKeyScheme;
  readonly request: Partial<TableSignedRequest>;
  readonly text: string;
  readonly signature: string;
}

/** See table-service §8.2. */
const vectors: readonly Vector[] = [
  {
    title: 'Lite, list of tables',
    scheme: 'SharedKeyLite',
    request: {},
    text: `${date}\n/${name}/${name}/Tables`,
    signature: '5pJSER/kaEs+I4p7xy5EJLIRUJpSFcG/9aE34wkWkpc=',
  },
  {
    title: 'SharedKey, list of tables',
    scheme: 'SharedKey',
    request: {},
    text: `GET\n\n\n${date}\n/${name}/${name}/Tables`,
    signature: '9DUvnDvFI0/nenHJv/0dASMaR4m42Jzx+gxWPmYDqlQ=',
  },
  {
    title: 'SharedKey with Content-Type',
    scheme: 'SharedKey',
    request: { method: 'POST', contentType: 'application/json' },
    text: `POST\n\napplication/json\n${date}\n/${name}/${name}/Tables`,
    signature: 'I03ZctKIUFz7wAR5w96kNAD9QEBazDKe85FpifUAfIg=',
  },
  {
    title: 'Lite, keys encoded and quotes raw',
    scheme: 'SharedKeyLite',
    request: { rawPath: `/${name}/people(PartitionKey='a%2Fb',RowKey='O''Neil')` },
    text: `${date}\n/${name}/${name}/people(PartitionKey='a%2Fb',RowKey='O''Neil')`,
    signature: 'KnVW84UznMgadji5nPKvTY/14GcDvm7OWi6Ps3pgRxk=',
  },
  {
    title: 'Lite, service properties: comp and nothing else of the query',
    scheme: 'SharedKeyLite',
    request: { rawPath: `/${name}/`, comp: 'properties' },
    text: `${date}\n/${name}/${name}/?comp=properties`,
    signature: 'qhKljSeMYbUPYvVyGIfsNFeL3kS+V52mTx1QTztMed8=',
  },
  {
    title: 'Lite, table ACL',
    scheme: 'SharedKeyLite',
    request: { rawPath: `/${name}/people`, comp: 'acl' },
    text: `${date}\n/${name}/${name}/people?comp=acl`,
    signature: 'qTM2RSZ9JrcWRwKTueAnc9w18ArLtW/k2Xa/d/cQUNM=',
  },
  {
    title: 'Lite, host style',
    scheme: 'SharedKeyLite',
    request: { rawPath: '/people()' },
    text: `${date}\n/${name}/people()`,
    signature: 'VnvXqWHZKuM6/dymuTk7ZA6Zk5JilV/BedeYgMrZi7s=',
  },
];

interface Attempt {
  readonly scheme?: SharedKeyScheme;
  readonly signature: string;
  readonly request?: Partial<TableSignedRequest>;
  readonly account?: string;
  readonly skewCheckedAtMicros?: number | undefined;
}

function isAccepted(attempt: Attempt): boolean {
  const { scheme = 'SharedKeyLite', signature, request, account = name } = attempt;
  const skewCheckedAtMicros =
    'skewCheckedAtMicros' in attempt ? attempt.skewCheckedAtMicros : nowMicros;
  try {
    verifySharedKey(
      { kind: 'shared-key', scheme, account, signature },
      { name, keys: [otherKey, key] },
      { ...base, ...request },
      { skewCheckedAtMicros },
    );
    return true;
  } catch (error) {
    assert.ok(error instanceof StorageError && error.code === 'AuthenticationFailed');
    return false;
  }
}

/** What a client of ours would send as the signature. */
function sign(
  request: Partial<TableSignedRequest>,
  scheme: SharedKeyScheme = 'SharedKeyLite',
): string {
  const xMsDate = request.xMsDate ?? date;
  const header = signRequest(scheme, { name, key }, { ...base, ...request, xMsDate });
  return header.slice(header.indexOf(':') + 1);
}

/** `text` with the character at `index` replaced by another base64 or ASCII character. */
function altered(text: string, index: number): string {
  return `${text.slice(0, index)}${text[index] === 'A' ? 'B' : 'A'}${text.slice(index + 1)}`;
}

describe('shared key vectors', () => {
  for (const { title, scheme, request, text, signature } of vectors) {
    it(title, () => {
      const full = { ...base, ...request };
      assert.deepEqual([...tableStringsToSign(scheme, name, full)], [{ date, text }]);
      assert.equal(isAccepted({ scheme, signature, request }), true);
      assert.equal(sign(request, scheme), signature);
    });

    it(`${title}: any other signature fails`, () => {
      for (let index = 0; index < signature.length; index += 1) {
        assert.equal(isAccepted({ scheme, signature: altered(signature, index), request }), false);
      }
      assert.equal(isAccepted({ scheme, signature: signature.slice(0, -1), request }), false);
      assert.equal(isAccepted({ scheme, signature: `${signature}=`, request }), false);
    });

    it(`${title}: any other path fails`, () => {
      const { rawPath } = { ...base, ...request };
      for (let index = 0; index < rawPath.length; index += 1) {
        const changed = { ...request, rawPath: altered(rawPath, index) };
        assert.equal(isAccepted({ scheme, signature, request: changed }), false);
      }
    });
  }
});

describe('verifySharedKey', () => {
  it('signs method, Content-MD5 and Content-Type in the full scheme only', () => {
    const request = { method: 'PUT', contentMd5: 'bWQ1', contentType: 'application/json;odata=x' };
    const changes = [{ method: 'PATCH' }, { contentMd5: 'bWQ2' }, { contentType: 'text/plain' }];
    const full = sign(request, 'SharedKey');
    const lite = sign(request, 'SharedKeyLite');
    for (const change of changes) {
      const changed = { ...request, ...change };
      assert.equal(isAccepted({ scheme: 'SharedKey', signature: full, request: changed }), false);
      assert.equal(isAccepted({ signature: lite, request: changed }), true);
    }
  });

  it('takes the path as sent: an equivalent spelling fails', () => {
    const signature = sign({ rawPath: `/${name}/t(PartitionKey='a',RowKey='b')` });
    const rawPath = `/${name}/t(PartitionKey=%27a%27,RowKey=%27b%27)`;
    assert.equal(isAccepted({ signature, request: { rawPath } }), false);
    assert.equal(isAccepted({ signature: sign({ rawPath }), request: { rawPath } }), true);
  });

  it('prefers x-ms-date and falls back to Date', () => {
    const signature = sign({});
    const accepted = [
      { xMsDate: date, date: undefined },
      { xMsDate: undefined, date },
      { xMsDate: date, date: otherDate },
      { xMsDate: otherDate, date },
    ];
    for (const request of accepted) assert.equal(isAccepted({ signature, request }), true);
    const request = { xMsDate: otherDate, date: otherDate };
    assert.equal(isAccepted({ signature, request }), false);
  });

  it('refuses a request without a date, checked clocks or not', () => {
    const request = { xMsDate: undefined, date: undefined };
    const signature = sign({ xMsDate: '' });
    assert.equal(isAccepted({ signature, request }), false);
    assert.equal(
      isAccepted({ signature, request: { xMsDate: '' }, skewCheckedAtMicros: undefined }),
      false,
    );
  });

  it('refuses a signed date that is too old or none, unless clocks are not checked', () => {
    for (const xMsDate of ['Fri, 21 Nov 2025 09:44:59 GMT', 'yesterday']) {
      const signature = sign({ xMsDate });
      const request = { xMsDate };
      assert.equal(isAccepted({ signature, request }), false);
      assert.equal(isAccepted({ signature, request, skewCheckedAtMicros: undefined }), true);
    }
  });

  it('accepts both forms of a path-style secondary and no other suffix', () => {
    const rawPath = `/${name}-secondary/people()`;
    const asPrimary = sign({ rawPath: `/${name}/people()` });
    assert.equal(isAccepted({ signature: sign({ rawPath }), request: { rawPath } }), true);
    assert.equal(isAccepted({ signature: asPrimary, request: { rawPath } }), true);
    const other = sign({ rawPath: `/${name}x/people()` });
    const request = { rawPath: `/${name}-secondaryx/people()` };
    assert.equal(isAccepted({ signature: other, request }), false);
  });

  it('refuses the signature of one account for another', () => {
    assert.equal(isAccepted({ signature: sign({}), account: 'other' }), false);
  });

  it('signs an empty path as a slash', () => {
    const [first] = tableStringsToSign('SharedKeyLite', 'acct', { ...base, rawPath: '' });
    assert.equal(first?.text, `${date}\n/acct/`);
  });

  it('accepts whatever our own clients sign', () => {
    const request = fc.record({
      method: fc.constantFrom('GET', 'POST', 'MERGE'),
      rawPath: fc.webPath(),
      comp: fc.constantFrom('acl', undefined),
      contentType: fc.option(fc.string(), { nil: undefined }),
      contentMd5: fc.option(fc.base64String(), { nil: undefined }),
    });
    fc.assert(
      fc.property(request, fc.constantFrom('SharedKey', 'SharedKeyLite'), (request, scheme) => {
        assert.equal(isAccepted({ scheme, signature: sign(request, scheme), request }), true);
      }),
    );
  });
});

describe('a refused signature', () => {
  const request = { ...base, contentType: 'text/plain' };
  const holder = { name, keys: [key] };

  function detailOf(
    change: Partial<TableSignedRequest>,
    credential: { readonly account?: string } = {},
  ): string {
    const presented = { kind: 'shared-key', scheme: 'SharedKey', signature: 'c2ln' } as const;
    try {
      verifySharedKey(
        { account: name, ...presented, ...credential },
        holder,
        { ...request, ...change },
        { skewCheckedAtMicros: nowMicros },
      );
    } catch (error) {
      assert.ok(error instanceof StorageError);
      const [detail, ...others] = error.details;
      assert.deepEqual(others, []);
      assert.equal(detail?.[0], 'AuthenticationErrorDetail');
      assert.ok(!detail[1].includes(secret));
      return detail[1];
    }
    return assert.fail('was accepted');
  }

  it('shows its owner what should have been signed, and no key', () => {
    const detail = detailOf({});
    assert.ok(detail.includes(`'GET\n\ntext/plain\n${date}\n/${name}/${name}/Tables'`));
    assert.ok(detail.includes("'c2ln'"));
  });

  it('shows a bounded part of it', () => {
    assert.ok(detailOf({ rawPath: `/${'x'.repeat(60_000)}` }).length < 5000);
  });

  it('says when the date or the account is what is wrong', () => {
    assert.match(detailOf({ xMsDate: undefined }), /no x-ms-date or Date/);
    assert.match(detailOf({ xMsDate: 'Fri, 21 Nov 2025 09:00:00 GMT' }), /15 minutes/);
    assert.match(detailOf({}, { account: 'other' }), /'other'.*'devstoreaccount1'/);
  });
});

describe('signatureMatches', () => {
  it('accepts any of the keys and none but them', () => {
    const signature = sign({});
    const text = `${date}\n/${name}/${name}/Tables`;
    assert.equal(signatureMatches([key, otherKey], text, signature), true);
    assert.equal(signatureMatches([otherKey, key], text, signature), true);
    assert.equal(signatureMatches([otherKey], text, signature), false);
    assert.equal(signatureMatches([], text, signature), false);
  });

  it('refuses text of the right length and another number of bytes', () => {
    assert.equal(signatureMatches([key], 'text', 'é'.repeat(44)), false);
  });
});

describe('isDateWithinSkew', () => {
  const date = 'Fri, 21 Nov 2025 10:00:00 GMT';
  const micros = Date.UTC(2025, 10, 21, 10) * 1000;
  const skew = clockSkewMsMax * 1000;

  it('allows 15 minutes either way and not a moment more', () => {
    assert.equal(skew, 900_000_000);
    assert.equal(isDateWithinSkew(date, micros - skew), true);
    assert.equal(isDateWithinSkew(date, micros + skew), true);
    assert.equal(isDateWithinSkew(date, micros - skew - 1), false);
    assert.equal(isDateWithinSkew(date, micros + skew + 1), false);
  });

  it('never accepts text that is no date', () => {
    assert.equal(isDateWithinSkew('now', micros), false);
  });
});
