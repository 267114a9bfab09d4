import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { StorageError } from '../../model/errors/storage-error.js';
import type { ServiceProperties } from '../../model/resources/service-properties.js';
import {
  blobProperties,
  parseServiceProperties,
  queueProperties,
  renderServiceProperties,
  tableProperties,
} from './service-properties.js';

const version = '2021-12-02';

const logging =
  '<Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>true</Write>' +
  '<RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></Logging>';
const metrics = (name: string) =>
  `<${name}><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs>` +
  `<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></${name}>`;
const cors =
  '<Cors><CorsRule><AllowedMethods>GET,PUT</AllowedMethods>' +
  '<AllowedOrigins>http://a.example,http://b.example</AllowedOrigins>' +
  '<AllowedHeaders>x-ms-meta-customheader,x-ms-meta-target*</AllowedHeaders>' +
  '<ExposedHeaders>x-ms-meta-customheader,x-ms-meta-data*</ExposedHeaders>' +
  '<MaxAgeInSeconds>500</MaxAgeInSeconds></CorsRule></Cors>';

const expected: ServiceProperties = {
  logging: {
    version: '1.0',
    delete: true,
    read: false,
    write: true,
    retention: { enabled: true, days: 7 },
  },
  hourMetrics: {
    version: '1.0',
    enabled: true,
    includeApis: true,
    retention: { enabled: false },
  },
  minuteMetrics: {
    version: '1.0',
    enabled: true,
    includeApis: true,
    retention: { enabled: false },
  },
  cors: [
    {
      allowedOrigins: ['http://a.example', 'http://b.example'],
      allowedMethods: ['GET', 'PUT'],
      allowedHeaders: ['x-ms-meta-customheader', 'x-ms-meta-target*'],
      exposedHeaders: ['x-ms-meta-customheader', 'x-ms-meta-data*'],
      maxAgeSeconds: 500,
    },
  ],
};

function document(content: string): Buffer {
  return Buffer.from(
    `<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>${content}</StorageServiceProperties>`,
  );
}

const whole = logging + metrics('HourMetrics') + metrics('MinuteMetrics') + cors;

/** The code and the details of a refusal. */
function refusal(
  body: Buffer,
  asVersion = version,
  dialect = queueProperties,
): readonly [string, string | undefined] {
  let error: unknown;
  try {
    parseServiceProperties(body, asVersion, dialect);
  } catch (caught) {
    error = caught;
  }
  assert.ok(error instanceof StorageError, body.toString());
  const details = Object.fromEntries(error.details);
  return [error.code, details['XmlNodeName'] ?? details['Reason']];
}

describe('parseServiceProperties', () => {
  it('reads the documented body, in any order and indented', () => {
    assert.deepEqual(parseServiceProperties(document(whole), version, queueProperties), expected);
    const shuffled = document(cors + metrics('MinuteMetrics') + metrics('HourMetrics') + logging);
    assert.deepEqual(parseServiceProperties(shuffled, version, queueProperties), expected);
    const indented = Buffer.from(document(whole).toString().replaceAll('><', '>\r\n  <'));
    assert.deepEqual(parseServiceProperties(indented, version, queueProperties), expected);
  });

  it('leaves out what the body leaves out', () => {
    assert.deepEqual(parseServiceProperties(document('<Cors />'), version, queueProperties), {
      cors: [],
    });
    assert.deepEqual(parseServiceProperties(document(logging), version, queueProperties), {
      logging: expected.logging,
    });
    assert.deepEqual(
      parseServiceProperties(document(metrics('MinuteMetrics')), '2013-08-15', queueProperties),
      {
        minuteMetrics: expected.minuteMetrics,
      },
    );
  });

  it('refuses a body that says nothing', () => {
    assert.deepEqual(refusal(document('')), [
      'InvalidXmlDocument',
      'StorageServiceProperties is empty.',
    ]);
    assert.deepEqual(refusal(Buffer.from('<Other/>')), [
      'InvalidXmlDocument',
      'The root element is Other, not StorageServiceProperties.',
    ]);
    assert.equal(refusal(Buffer.from(''))[0], 'InvalidXmlDocument');
    assert.equal(refusal(document(`text${logging}`))[0], 'InvalidXmlDocument');
    assert.equal(refusal(document(logging + logging))[0], 'InvalidXmlDocument');
  });

  it('names an element that is missing in a part', () => {
    for (const name of ['Version', 'Delete', 'Read', 'Write', 'RetentionPolicy', 'Days']) {
      const without = logging.replace(new RegExp(`<${name}>.*</${name}>`), '');
      assert.deepEqual(refusal(document(without)), ['MissingRequiredXmlNode', name]);
    }
    for (const part of ['HourMetrics', 'MinuteMetrics']) {
      for (const name of ['Version', 'IncludeAPIs', 'RetentionPolicy']) {
        const without = metrics(part).replace(new RegExp(`<${name}>.*</${name}>`), '');
        assert.deepEqual(refusal(document(without)), ['MissingRequiredXmlNode', name]);
      }
      const without = metrics(part).replace('<Enabled>true</Enabled>', '');
      assert.deepEqual(refusal(document(without)), ['MissingRequiredXmlNode', 'Enabled']);
    }
    const retention = logging.replace('<Enabled>true</Enabled>', '');
    assert.deepEqual(refusal(document(retention)), ['MissingRequiredXmlNode', 'Enabled']);
  });

  it('names an element that has no place', () => {
    for (const content of [
      '<DefaultServiceVersion>2020-10-02</DefaultServiceVersion>',
      metrics('Metrics'),
      logging.replace('</Logging>', '<Metrics/></Logging>'),
      logging.replace('7', '<Metrics/>'),
      metrics('HourMetrics').replace('</RetentionPolicy>', '<Metrics/></RetentionPolicy>'),
    ]) {
      const [code, name] = refusal(document(content));
      assert.equal(code, 'UnsupportedXmlNode');
      assert.ok(name === 'Metrics' || name === 'DefaultServiceVersion');
    }
  });

  it('names a value that may not be', () => {
    for (const [content, from, to, name] of [
      [logging, '>1.0<', '>3.0<', 'Version'],
      [metrics('HourMetrics'), '>1.0<', '>2.0<', 'Version'],
      [logging, '<Delete>true', '<Delete>yes', 'Delete'],
      [logging, '<Read>false', '<Read>False', 'Read'],
      [logging, '<Write>true', '<Write>', 'Write'],
      [logging, '<Days>7', '<Days>0', 'Days'],
      [logging, '<Days>7', '<Days>366', 'Days'],
      [logging, '<Days>7', '<Days>', 'Days'],
      [logging, '<Days>7', '<Days>+7', 'Days'],
      [metrics('HourMetrics'), '<IncludeAPIs>true', '<IncludeAPIs>1', 'IncludeAPIs'],
      [cors, 'GET', 'get', 'AllowedMethods'],
    ] as const) {
      assert.ok(content.includes(from));
      assert.deepEqual(refusal(document(content.replace(from, to))), ['InvalidXmlNodeValue', name]);
    }
  });

  it('reads Logging version 2.0 of queues, and days up to a year', () => {
    const content = logging.replace('1.0', '2.0').replace('<Days>7', '<Days> 365 ');
    const { logging: read } = parseServiceProperties(document(content), version, queueProperties);
    assert.equal(read?.version, '2.0');
    assert.deepEqual(read.retention, { enabled: true, days: 365 });
  });

  it('refuses IncludeAPIs when metrics are off, and drops days when retention is', () => {
    const off = metrics('HourMetrics').replace('<Enabled>true', '<Enabled>false');
    assert.deepEqual(refusal(document(off)), [
      'InvalidXmlDocument',
      'HourMetrics is not enabled, so it must have no IncludeAPIs.',
    ]);
    const sound = off.replace('<IncludeAPIs>true</IncludeAPIs>', '');
    assert.deepEqual(
      parseServiceProperties(document(sound), version, queueProperties).hourMetrics,
      {
        version: '1.0',
        enabled: false,
        retention: { enabled: false },
      },
    );
    const days = logging.replace('<Enabled>true', '<Enabled>false');
    assert.deepEqual(
      parseServiceProperties(document(days), version, queueProperties).logging?.retention,
      {
        enabled: false,
      },
    );
  });

  it('reads Metrics, and wants all parts, before 2013-08-15', () => {
    const old = logging + metrics('Metrics');
    assert.deepEqual(parseServiceProperties(document(old), '2012-02-12', queueProperties), {
      logging: expected.logging,
      hourMetrics: expected.hourMetrics,
    });
    assert.deepEqual(refusal(document(logging), '2012-02-12'), [
      'MissingRequiredXmlNode',
      'Metrics',
    ]);
    assert.deepEqual(refusal(document(whole), '2012-02-12'), ['UnsupportedXmlNode', 'HourMetrics']);
    assert.deepEqual(refusal(document(old), '2013-08-15'), ['UnsupportedXmlNode', 'Metrics']);
  });

  it('has one code for tables, which know one version of Logging', () => {
    assert.deepEqual(parseServiceProperties(document(whole), version, tableProperties), expected);
    for (const [content, name] of [
      [logging.replace('1.0', '2.0'), 'Version'],
      [logging.replace('<Days>7', '<Days>366'), 'Days'],
      [logging.replace('<Read>false</Read>', ''), 'Read'],
      ['<Other/>', 'Other'],
      ['', 'StorageServiceProperties is empty.'],
    ] as const) {
      assert.deepEqual(refusal(document(content), version, tableProperties), [
        'InvalidXmlDocument',
        name,
      ]);
    }
  });
});

describe('the parts of blobs', () => {
  const parts =
    '<DefaultServiceVersion>2019-12-12</DefaultServiceVersion>' +
    '<DeleteRetentionPolicy><Enabled>true</Enabled><Days>3</Days>' +
    '<AllowPermanentDelete>true</AllowPermanentDelete></DeleteRetentionPolicy>' +
    '<StaticWebsite><Enabled>true</Enabled><IndexDocument>index.html</IndexDocument>' +
    '<ErrorDocument404Path>errors/404.html</ErrorDocument404Path></StaticWebsite>';
  const own: Partial<ServiceProperties> = {
    defaultServiceVersion: '2019-12-12',
    deleteRetention: { enabled: true, days: 3, allowPermanentDelete: true },
    staticWebsite: {
      enabled: true,
      indexDocument: 'index.html',
      errorDocument404Path: 'errors/404.html',
    },
  };
  const parse = (content: string, at = version) =>
    parseServiceProperties(document(content), at, blobProperties);

  it('are read and written', () => {
    assert.deepEqual(parse(parts), own);
    const body = renderServiceProperties({ ...expected, ...own }, version);
    assert.ok(body.toString().includes(parts), body.toString());
    assert.deepEqual(parseServiceProperties(body, version, blobProperties), {
      ...expected,
      ...own,
    });
  });

  it('are switched off by one element', () => {
    assert.deepEqual(
      parse(
        '<DeleteRetentionPolicy><Enabled>false</Enabled><Days>3</Days></DeleteRetentionPolicy>' +
          '<StaticWebsite><Enabled>false</Enabled><IndexDocument>x</IndexDocument></StaticWebsite>',
      ),
      {
        deleteRetention: { enabled: false, allowPermanentDelete: false },
        staticWebsite: { enabled: false },
      },
    );
  });

  it('are written from their versions on', () => {
    const text = (at: string) => renderServiceProperties({ ...expected, ...own }, at).toString();
    assert.ok(text('2018-03-28').includes('StaticWebsite'));
    assert.ok(!text('2017-11-09').includes('StaticWebsite'));
    assert.ok(text('2020-02-10').includes('AllowPermanentDelete'));
    assert.ok(!text('2019-12-12').includes('AllowPermanentDelete'));
    assert.ok(text('2017-07-29').includes('DeleteRetentionPolicy'));
    assert.ok(!text('2017-04-17').includes('DeleteRetentionPolicy'));
    assert.ok(text('2012-02-12').includes('DefaultServiceVersion'));
    const old = `${logging}${metrics('Metrics')}<DefaultServiceVersion>2011-08-18</DefaultServiceVersion>`;
    assert.equal(parse(old, '2012-02-12').defaultServiceVersion, '2011-08-18');
  });

  it('are refused when they are none', () => {
    const days = (text: string) =>
      `<DeleteRetentionPolicy><Enabled>true</Enabled>${text}</DeleteRetentionPolicy>`;
    for (const [content, code] of [
      ['<DefaultServiceVersion>2019-12-13</DefaultServiceVersion>', 'InvalidXmlNodeValue'],
      ['<DefaultServiceVersion />', 'InvalidXmlNodeValue'],
      [days(''), 'MissingRequiredXmlNode'],
      [days('<Days>0</Days>'), 'InvalidXmlNodeValue'],
      [days('<Days>366</Days>'), 'InvalidXmlNodeValue'],
      ['<StaticWebsite />', 'MissingRequiredXmlNode'],
      ['<StaticWebsite><Enabled>yes</Enabled></StaticWebsite>', 'InvalidXmlNodeValue'],
      [
        `<StaticWebsite><Enabled>true</Enabled><IndexDocument>${'x'.repeat(1_025)}</IndexDocument></StaticWebsite>`,
        'InvalidXmlNodeValue',
      ],
    ] as const) {
      assert.throws(() => parse(content), { code }, content.slice(0, 60));
    }
  });

  it('belong to no other service', () => {
    for (const dialect of [queueProperties, tableProperties]) {
      assert.throws(() => parseServiceProperties(document(parts), version, dialect), {
        code: dialect === queueProperties ? 'UnsupportedXmlNode' : 'InvalidXmlDocument',
      });
    }
  });
});

describe('renderServiceProperties', () => {
  const inOrder = whole.replace(
    '<Delete>true</Delete><Read>false</Read><Write>true</Write>',
    '<Read>false</Read><Write>true</Write><Delete>true</Delete>',
  );

  it('writes the whole document', () => {
    assert.equal(
      renderServiceProperties(expected, version).toString(),
      document(inOrder).toString(),
    );
    assert.match(
      renderServiceProperties({ ...expected, cors: [] }, version).toString(),
      /<\/MinuteMetrics><Cors \/><\/StorageServiceProperties>$/,
    );
  });

  it('writes Logging and Metrics alone before 2013-08-15', () => {
    const parts = inOrder.slice(0, inOrder.indexOf('<HourMetrics>')) + metrics('Metrics');
    assert.equal(
      renderServiceProperties(expected, '2012-02-12').toString(),
      document(parts).toString(),
    );
  });

  it('is read back by either service', () => {
    const retention = fc.oneof(
      fc.constant({ enabled: false }),
      fc.integer({ min: 1, max: 365 }).map((days) => ({ enabled: true, days })),
    );
    const anyMetrics = fc.oneof(
      retention.map((retention) => ({ version: '1.0', enabled: false, retention })),
      fc.tuple(fc.boolean(), retention).map(([includeApis, retention]) => ({
        version: '1.0',
        enabled: true,
        includeApis,
        retention,
      })),
    );
    const properties = fc.record(
      {
        logging: fc.record(
          {
            version: fc.constant('1.0'),
            read: fc.boolean(),
            write: fc.boolean(),
            delete: fc.boolean(),
            retention,
          },
          { noNullPrototype: true },
        ),
        hourMetrics: anyMetrics,
        minuteMetrics: anyMetrics,
        cors: fc.constantFrom([], expected.cors),
      },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(properties, (given) => {
        const body = renderServiceProperties(given, version);
        for (const dialect of [queueProperties, tableProperties]) {
          assert.deepEqual(parseServiceProperties(body, version, dialect), given);
        }
      }),
    );
  });
});
