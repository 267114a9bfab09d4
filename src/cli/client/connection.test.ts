import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ServiceName } from '../../app/index.js';
import { parseConnectionString } from './connection.js';
import { UsageError } from '../terminal/failure.js';

void describe('connection strings', () => {
  void it('lead to the endpoint of each kind of service', () => {
    const cases: [string, string, string][] = [
      ['UseDevelopmentStorage=true', 'http://127.0.0.1:10002/devstoreaccount1', 'devstoreaccount1'],
      [
        'UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://box',
        'http://box:10002/devstoreaccount1',
        'devstoreaccount1',
      ],
      [
        'DefaultEndpointsProtocol=https;AccountName=acct;AccountKey=YQ==;EndpointSuffix=x.example',
        'https://acct.table.x.example',
        'acct',
      ],
      ['AccountName=acct;AccountKey=YQ==', 'https://acct.table.core.windows.net', 'acct'],
      [
        'TableEndpoint=http://h:1/acct/;accountname=acct;accountkey=YQ==;',
        'http://h:1/acct',
        'acct',
      ],
      [
        'TableEndpoint=https://acct.table.core.windows.net;SharedAccessSignature=?sv=1&sig=a%3D',
        'https://acct.table.core.windows.net',
        'acct',
      ],
    ];
    for (const [text, endpoint, account] of cases) {
      const connection = parseConnectionString(text, 'table');
      assert.deepEqual([connection.endpoint, connection.account], [endpoint, account], text);
    }
    const text = 'TableEndpoint=http://h/a;SharedAccessSignature=?sig=a%3D';
    const sas = parseConnectionString(text, 'table');
    assert.deepEqual(sas.credential, { kind: 'sas', query: 'sig=a%3D' });
  });

  void it('lead to the endpoint of the service that is asked for', () => {
    const both =
      'AccountName=a;AccountKey=YQ==;QueueEndpoint=http://h:1/a;TableEndpoint=http://h:2/a';
    const cases: [string, ServiceName, string][] = [
      ['UseDevelopmentStorage=true', 'queue', 'http://127.0.0.1:10001/devstoreaccount1'],
      [
        'UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://box',
        'queue',
        'http://box:10001/devstoreaccount1',
      ],
      ['AccountName=acct;AccountKey=YQ==', 'queue', 'https://acct.queue.core.windows.net'],
      [both, 'queue', 'http://h:1/a'],
      [both, 'table', 'http://h:2/a'],
    ];
    for (const [text, service, endpoint] of cases) {
      assert.equal(parseConnectionString(text, service).endpoint, endpoint);
    }
  });

  void it('of a server without the service do not lead to the cloud', () => {
    const tables = 'AccountName=a;AccountKey=YQ==;TableEndpoint=http://h:2/a';
    assert.throws(() => parseConnectionString(tables, 'queue'), /no QueueEndpoint/);
  });

  void it('are refused without repeating the secrets in them', () => {
    const texts = [
      '',
      'c2VjcmV0',
      'AccountKey=c2VjcmV0',
      'AccountName=c2VjcmV0',
      'TableEndpoint=c2VjcmV0;AccountKey=c2VjcmV0',
      'TableEndpoint=ftp://c2VjcmV0;AccountKey=c2VjcmV0',
    ];
    for (const text of texts) {
      assert.throws(
        () => parseConnectionString(text, 'table'),
        (error) => error instanceof UsageError && !error.message.includes('c2VjcmV0'),
        text,
      );
    }
  });
});
