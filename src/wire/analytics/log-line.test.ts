import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { parseLog } from '../../../test/support/log-lines.js';
import { wellFormed } from '../http/percent.js';
import { logDate, LogText, type LogRecord } from './log-line.js';

function textOf(record: LogRecord): string {
  const text = new LogText();
  text.add(record);
  return text.take().toString();
}

const sample: LogRecord = {
  version: '1.0',
  startMicros: Date.UTC(2014, 5, 19, 22, 59, 23) * 1000 + 196_776,
  operation: 'GetBlob',
  requestStatus: 'AnonymousSuccess',
  httpStatus: 200,
  endToEndMs: 17,
  serverMs: 16,
  authentication: 'anonymous',
  requesterAccount: undefined,
  ownerAccount: 'storagesample',
  service: 'table',
  url: ['https', '://', 'storagesample.blob.core.windows.net', '/sample-container1/00001.txt'],
  objectKey: ['/', 'storagesample', '/', 'sample-container1', '/', '00001.txt'],
  requestId: '61d2e3f6-bcb7-4cd1-a81e-4f8f497f0da2',
  operationIndex: 0,
  clientAddress: '192.100.0.102:4362',
  protocolVersion: '2014-02-14',
  requestHeadBytes: 283,
  requestBodyBytes: 0,
  responseHeadBytes: 354,
  responseBodyBytes: 23,
  contentLength: 0,
  requestMd5: undefined,
  serverMd5: undefined,
  etag: '"0x8D15A2913C934DE"',
  lastModifiedMicros: Date.UTC(2014, 5, 19, 22, 58, 10) * 1000,
  conditions: [],
  userAgent: 'WA-Storage/4.0.1 (.NET CLR 4.0.30319.34014; Win32NT 6.3.9600.0)',
  referrer: undefined,
  clientRequestId: '44dfd78e-7288-4898-8f70-c3478983d3b6',
  bearer: undefined,
};

const sampleLine =
  '1.0;2014-06-19T22:59:23.1967760Z;GetBlob;AnonymousSuccess;200;17;16;anonymous;;storagesample;' +
  'table;"https://storagesample.blob.core.windows.net/sample-container1/00001.txt";' +
  '"/storagesample/sample-container1/00001.txt";61d2e3f6-bcb7-4cd1-a81e-4f8f497f0da2;0;' +
  '192.100.0.102:4362;2014-02-14;283;0;354;23;0;;;"&quot;0x8D15A2913C934DE&quot;";' +
  'Thursday, 19-Jun-14 22:58:10 GMT;;' +
  '"WA-Storage/4.0.1 (.NET CLR 4.0.30319.34014; Win32NT 6.3.9600.0)";;' +
  '"44dfd78e-7288-4898-8f70-c3478983d3b6"';

describe('a line of a log (blob-service §21.3, §21.4)', () => {
  it('of version 1.0 is that of the sample', () => {
    assert.equal(textOf(sample), `${sampleLine}\n`);
  });

  it('of version 2.0 has eight more fields, empty without a token', () => {
    const line = textOf({ ...sample, version: '2.0' });
    assert.equal(line, `2.0${sampleLine.slice(3)};;;;;;;;\n`);
    const bearer = { objectId: 'o', tenantId: 't', issuer: 'https://issuer/' };
    assert.match(
      textOf({ ...sample, version: '2.0', bearer }),
      /";"o";"t";;;"https:\/\/issuer\/";;;\n$/,
    );
  });

  it('says that an interrupted request has no status', () => {
    const [fields] = parseLog(textOf({ ...sample, httpStatus: undefined }));
    assert.equal(fields?.['httpStatus'], 'Unknown');
  });

  it('keeps whatever clients send in its field', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({
        unit: fc.constantFrom(
          '"',
          ';',
          '&',
          '<',
          '>',
          '\r',
          '\n',
          '\0',
          'ü',
          '\ud800',
          'a',
          '&quot;',
        ),
      }),
    );
    fc.assert(
      fc.property(
        fc.constantFrom('1.0' as const, '2.0' as const),
        fc.tuple(hostile, hostile, hostile, hostile, hostile),
        fc.array(hostile, { maxLength: 3 }),
        (version, [userAgent, referrer, url, name, token], conditions) => {
          const bearer = { userPrincipalName: token };
          const places = { url: [url, name], objectKey: ['/', name] };
          const record = { ...sample, version, userAgent, referrer, ...places, bearer };
          const unquoted = { protocolVersion: token, operation: name, clientAddress: referrer };
          const line = textOf({ ...record, ...unquoted, conditions });
          const [fields, ...others] = parseLog(line);
          assert.deepEqual(others, []);
          const shown = (text: string) => wellFormed(text);
          assert.equal(fields?.['userAgent'], shown(userAgent));
          assert.equal(fields?.['referrer'], shown(referrer));
          assert.equal(fields?.['url'], shown(url) + shown(name));
          assert.equal(fields?.['objectKey'], `/${shown(name)}`);
          assert.equal(fields?.['conditions'], shown(conditions.join(';')));
          if (version === '2.0') assert.equal(fields?.['userPrincipalName'], shown(token));
          assert.equal(fields?.['clientRequestId'], sample.clientRequestId);
        },
      ),
    );
  });

  it('writes dates with the weekday in full and a year of two digits', () => {
    const days = Array.from({ length: 7 }, (_, day) =>
      logDate(Date.UTC(2020, 3, 5 + day, 13, 56, 12) * 1000),
    );
    assert.deepEqual(days.slice(0, 3), [
      'Sunday, 05-Apr-20 13:56:12 GMT',
      'Monday, 06-Apr-20 13:56:12 GMT',
      'Tuesday, 07-Apr-20 13:56:12 GMT',
    ]);
    assert.ok(days.every((day) => /^[A-Z][a-z]+day, /.test(day)));
  });
});
