import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../../model/errors/storage-error.js';
import type { ServiceName } from '../../../model/services/services.js';
import { readSas } from './read-sas.js';
import { signAccountSas, signQueueSas, signTableSas, verifySasSignature } from './sas-signature.js';
import { sasStringToSign } from './string-to-sign-sas.js';

const name = 'devstoreaccount1';
const secret =
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==';
const key = createSecretKey(Buffer.from(secret, 'base64'));
const otherKey = createSecretKey(Buffer.from('another key'));
const account = { name, keys: [key] };

interface Vector {
  readonly title: string;
  readonly service: ServiceName;
  readonly query: string;
  readonly queue?: string;
  readonly text: string;
}

const week = 'st=2025-11-21T00%3A00%3A00Z&se=2025-11-28T00%3A00%3A00Z';
const day = 'st=2024-03-01T12%3A00%3A00Z&se=2024-03-02T12%3A00%3A00Z';

/** See table-service §8.2 and queue-service §13. */
const vectors: readonly Vector[] = [
  {
    title: 'table, sv 2019-02-02, with a key range',
    service: 'table',
    query: `sv=2019-02-02&${week}&sp=raud&sig=8ipbrnPo4Aik21pHUPlU5P09h8sNsjzw9RTRkASon8g%3D&tn=People&srk=1&spk=a&epk=b&erk=9`,
    text: `raud\n2025-11-21T00:00:00Z\n2025-11-28T00:00:00Z\n/table/${name}/people\n\n\n\n2019-02-02\na\n1\nb\n9`,
  },
  {
    title: 'account, sv 2019-02-02',
    service: 'table',
    query: `sv=2019-02-02&ss=t&srt=sco&spr=https%2Chttp&${week}&sp=rwdlau&sig=M%2FxyVDtAnzvOi5DJbtBtZ0PJEO6UEQkgIlCVIth0dZI%3D`,
    text: `${name}\nrwdlau\nt\nsco\n2025-11-21T00:00:00Z\n2025-11-28T00:00:00Z\n\nhttps,http\n2019-02-02\n`,
  },
  {
    title: 'account, sv 2020-12-06, no encryption scope',
    service: 'table',
    query: `sv=2020-12-06&ss=t&srt=sco&spr=https%2Chttp&${week}&sp=rwdlacu&sig=VlE%2B93Hp5bmQXpdV6zSn%2BKv2sM7W%2FOHTriWJGFKDY3Q%3D`,
    text: `${name}\nrwdlacu\nt\nsco\n2025-11-21T00:00:00Z\n2025-11-28T00:00:00Z\n\nhttps,http\n2020-12-06\n\n`,
  },
  {
    title: 'queue, sv 2018-11-09',
    service: 'queue',
    queue: 'q1',
    query: `sv=2018-11-09&${day}&sp=raup&sig=IMjnCFoP%2BYBKh0vGrUy2Nnh9QLxE66xG3VGeQ5jR6Ng%3D`,
    text: `raup\n2024-03-01T12:00:00Z\n2024-03-02T12:00:00Z\n/queue/${name}/q1\n\n\n\n2018-11-09`,
  },
  {
    title: 'account, sv 2019-12-12, two services',
    service: 'queue',
    query:
      'sv=2019-12-12&ss=bq&srt=sco&se=2024-03-02T12%3A00%3A00Z&sp=rwdlacup&sig=rfwCwkPEfx0lNaEHbJBUzsNmxnV%2Fh5WFIWiSQWBOO5M%3D',
    text: `${name}\nrwdlacup\nbq\nsco\n\n2024-03-02T12:00:00Z\n\n\n2019-12-12\n`,
  },
  {
    title: 'account, sv 2020-12-06, two services',
    service: 'queue',
    query:
      'sv=2020-12-06&ss=bq&srt=sco&se=2024-03-02T12%3A00%3A00Z&sp=rwdlacup&sig=7XDLX27j0qi34GbggjcM4xYuEH91ZjM0%2BQTpDDB0ECc%3D',
    text: `${name}\nrwdlacup\nbq\nsco\n\n2024-03-02T12:00:00Z\n\n\n2020-12-06\n\n`,
  },
];

const addressOf = (queue: string | undefined) =>
  queue === undefined ? undefined : { container: queue };

function isAccepted(query: string, service: ServiceName, queue?: string, keys = [key]): boolean {
  try {
    const sas = readSas(query, service);
    if (sas === undefined) return false;
    verifySasSignature(sas, { name, keys }, addressOf(queue));
    return true;
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    assert.ok(error.code === 'AuthenticationFailed' || error.code === 'InvalidInput');
    return false;
  }
}

/** The fields without irrelevant differences: encoding, and case of table and queue names. */
function meaning(query: string, service: ServiceName): string {
  const fields = [...new URLSearchParams(query)].map(([name, value]) => [
    service === 'queue' ? name.toLowerCase() : name,
    name === 'tn' ? value.toLowerCase() : value,
  ]);
  return JSON.stringify(fields);
}

describe('vectors of the protocol', () => {
  for (const { title, service, query, queue, text } of vectors) {
    it(`are accepted, and written the same: ${title}`, () => {
      const sas = readSas(query, service);
      assert.ok(sas !== undefined);
      assert.equal(sasStringToSign(sas, name, addressOf(queue)), text);
      verifySasSignature(sas, account, addressOf(queue));
      const signer = { name, key };
      switch (sas.kind) {
        case 'table-sas':
          assert.equal(signTableSas(sas, signer), query);
          break;
        case 'account-sas':
          assert.equal(signAccountSas(sas, signer), query);
          break;
        case 'queue-sas':
          assert.equal(signQueueSas(sas, queue ?? '', signer), query);
          break;
        default:
          assert.fail();
      }
    });
  }

  it('are accepted with either key of an account and with no other', () => {
    for (const { query, service, queue } of vectors) {
      assert.equal(isAccepted(query, service, queue, [otherKey, key]), true);
      assert.equal(isAccepted(query, service, queue, [key, otherKey]), true);
      assert.equal(isAccepted(query, service, queue, [otherKey]), false);
    }
  });

  it('fail whatever field or character of the query string is another', () => {
    const changed = fc.record({
      vector: fc.constantFrom(...vectors),
      at: fc.nat(),
      character: fc.constantFrom(...Array.from('abrq019zTZ=&%-+:,\n')),
    });
    fc.assert(
      fc.property(changed, ({ vector: { query, service, queue }, at, character }) => {
        const index = at % query.length;
        const other = query.slice(0, index) + character + query.slice(index + 1);
        fc.pre(meaning(other, service) !== meaning(query, service));
        assert.equal(isAccepted(other, service, queue), false, other);
      }),
      { numRuns: 400 },
    );
  });

  it('fail for another queue, and without one', () => {
    const { query } = vectors[3] ?? assert.fail();
    assert.equal(isAccepted(query, 'queue', 'q2'), false);
    assert.equal(isAccepted(query, 'queue', undefined), false);
  });

  it('fail with a message that shows what was expected, and no key', () => {
    const { query, text } = vectors[0] ?? assert.fail();
    const sas = readSas(query.replace('sp=raud', 'sp=r'), 'table');
    assert.ok(sas !== undefined);
    assert.throws(
      () => verifySasSignature(sas, account, undefined),
      (error) => {
        assert.ok(error instanceof StorageError);
        const [detail] = error.details;
        assert.equal(detail?.[0], 'AuthenticationErrorDetail');
        assert.ok(detail[1].includes(text.replace('raud', 'r')));
        assert.ok(!JSON.stringify(error.details).includes(secret));
        return true;
      },
    );
  });
});

const service = { permissions: 'r', expiry: '2030-01-01', ip: undefined, identifier: 'p' };

describe('layouts', () => {
  const resource = (version: string) => {
    const text = sasStringToSign(
      { kind: 'table-sas', ...service, version, table: 'People' },
      'acct',
      undefined,
    );
    return text.split('\n');
  };

  it('of a table gain the name of the service, and then address and protocol', () => {
    const old = (sv: string) => ['r', '', '2030-01-01', '/acct/people', 'p', sv, '', '', '', ''];
    assert.deepEqual(resource('2012-02-12'), old('2012-02-12'));
    assert.deepEqual(resource('2014-02-14'), old('2014-02-14'));
    assert.deepEqual(resource('2015-02-20'), old('2015-02-20'));
    for (const sv of ['2015-02-21', '2015-04-04']) {
      assert.deepEqual(resource(sv), old(sv).with(3, '/table/acct/people'));
    }
    for (const sv of ['2015-04-05', '2019-02-02', '2026-04-06']) {
      const head = ['r', '', '2030-01-01', '/table/acct/people', 'p'];
      assert.deepEqual(resource(sv), [...head, '', '', sv, '', '', '', '']);
    }
  });

  it('of a queue do the same at the same versions', () => {
    const text = (version: string) =>
      sasStringToSign({ kind: 'queue-sas', ...service, version }, 'acct', addressOf('q')).split(
        '\n',
      );
    const old = (sv: string) => ['r', '', '2030-01-01', '/acct/q', 'p', sv];
    assert.deepEqual(text('2012-02-12'), old('2012-02-12'));
    assert.deepEqual(text('2015-02-20'), old('2015-02-20'));
    assert.deepEqual(text('2015-02-21'), old('2015-02-21').with(3, '/queue/acct/q'));
    assert.deepEqual(text('2015-04-04'), old('2015-04-04').with(3, '/queue/acct/q'));
    const head = ['r', '', '2030-01-01', '/queue/acct/q', 'p'];
    assert.deepEqual(text('2015-04-05'), [...head, '', '', '2015-04-05']);
  });

  it('of an account gain a line for the encryption scope', () => {
    const text = (version: string) =>
      sasStringToSign(
        {
          kind: 'account-sas',
          version,
          permissions: 'r',
          expiry: '2030-01-01',
          services: 't',
          resourceTypes: 'o',
          encryptionScope: 'scope',
        },
        'acct',
        undefined,
      ).split('\n');
    const fields = ['acct', 'r', 't', 'o', '', '2030-01-01', '', ''];
    assert.deepEqual(text('2015-04-05'), [...fields, '2015-04-05', '']);
    assert.deepEqual(text('2020-12-05'), [...fields, '2020-12-05', '']);
    assert.deepEqual(text('2020-12-06'), [...fields, '2020-12-06', 'scope', '']);
  });
});
