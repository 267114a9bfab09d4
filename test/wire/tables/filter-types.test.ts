import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startFixture } from '../kit/server.js';

// table-service §14 no. 7: the two tables of table-service §5.4 for every type of property ×
// operator × type of literal, through HTTP, with the literal on either side and under `not`.

const { client } = await startFixture();

const operators = ['eq', 'ne', 'lt', 'le', 'gt', 'ge'] as const;
type Operator = (typeof operators)[number];

const types = [
  'String',
  'Int32',
  'Int64',
  'Double',
  'Boolean',
  'DateTime',
  'Guid',
  'Binary',
] as const;
type Type = (typeof types)[number];

/** Values in ascending order, as JSON; the literal is the middle one (the upper of two). */
interface Sample {
  readonly json: readonly string[];
  readonly middle: number;
  readonly literals: readonly string[];
}

const guid = (digit: string) => `${digit}9da6455-213d-42c9-9a79-3e9149a57833`;

const samples: Readonly<Record<Type, Sample>> = {
  String: { json: ['"a"', '"m"', '"z"'], middle: 1, literals: [`'m'`] },
  Int32: { json: ['-2147483648', '3', '2147483647'], middle: 1, literals: ['3'] },
  Int64: {
    json: ['"-9223372036854775808"', '"3"', '"9223372036854775807"'],
    middle: 1,
    literals: ['3L', '3l'],
  },
  Double: {
    json: ['"-1.5E300"', '"3"', '"1.5E300"'],
    middle: 1,
    literals: ['3.0', '3D', '3d', '3e0', '30E-1'],
  },
  Boolean: { json: ['false', 'true'], middle: 1, literals: ['true'] },
  DateTime: {
    json: [
      '"2017-11-10T02:46:57.0430858Z"',
      '"2017-11-10T02:46:57.0430859Z"',
      '"2017-11-10T02:46:57.043086Z"',
    ],
    middle: 1,
    literals: [`datetime'2017-11-10T02:46:57.0430859Z'`, `datetime'2017-11-10T02:46:57.0430859'`],
  },
  Guid: {
    json: [`"${guid('a')}"`, `"${guid('c')}"`, `"${guid('e')}"`],
    middle: 1,
    literals: [`guid'${guid('c')}'`, `guid'${guid('C').toUpperCase()}'`],
  },
  Binary: {
    json: ['"AP8="', '"Cv8="', '"CwA="'],
    middle: 1,
    literals: [`X'0aff'`, `x'0AFF'`, `binary'0aff'`],
  },
};

/** Which literals a property is compared with by value; every other pair is a mismatch (no. 3). */
const comparable: Readonly<Record<Type, readonly Type[]>> = {
  String: ['String'],
  Int32: ['Int32'],
  Int64: ['Int32', 'Int64'],
  Double: ['Int32', 'Int64', 'Double'],
  Boolean: ['Boolean'],
  DateTime: ['DateTime'],
  Guid: ['Guid'],
  Binary: ['Binary'],
};

/** Rows that a comparison must find, from table-service §5.4 alone. */
function expected(property: Type, operator: Operator, literal: Type): string[] {
  const { json, middle } = samples[property];
  return json.flatMap((_, index) => {
    const sign = Math.sign(index - middle);
    const holds = comparable[property].includes(literal)
      ? bySign(operator, sign)
      : ['ne', 'lt', 'le'].includes(operator);
    return holds ? [`${property}${index}`] : [];
  });
}

function bySign(operator: Operator, sign: number): boolean {
  switch (operator) {
    case 'eq':
      return sign === 0;
    case 'ne':
      return sign !== 0;
    case 'lt':
      return sign < 0;
    case 'le':
      return sign <= 0;
    case 'gt':
      return sign > 0;
    case 'ge':
      return sign >= 0;
    default:
      return assert.fail(`operator ${String(operator)}`);
  }
}

const mirrored: Readonly<Record<Operator, Operator>> = {
  eq: 'eq',
  ne: 'ne',
  lt: 'gt',
  le: 'ge',
  gt: 'lt',
  ge: 'le',
};

const table = await client.newTable('filters');
const rows = types.flatMap((type) => samples[type].json.map((_, index) => `${type}${index}`));
const allRows = [...rows, 'missing'].sort();

for (const type of types) {
  for (const [index, json] of samples[type].json.entries()) {
    const annotation = `"v@odata.type":"Edm.${type}","v":${json}`;
    await client.put(table, `{"PartitionKey":"${type}","RowKey":"${type}${index}",${annotation}}`);
  }
}
await client.put(table, '{"PartitionKey":"none","RowKey":"missing","other":1}');

const found = (filter: string) =>
  client.rowKeys(table, filter).then((keys) => keys.map(String).sort());

for (const property of types) {
  describe(`a property of type Edm.${property}`, () => {
    for (const literal of types) {
      const kind = comparable[property].includes(literal) ? 'compares with' : 'mismatches';
      it(`${kind} literals of type Edm.${literal}`, async () => {
        for (const text of samples[literal].literals) {
          for (const operator of operators) {
            const wanted = expected(property, operator, literal);
            const scope = `PartitionKey eq '${property}'`;
            const comparison = `v ${operator} ${text}`;
            assert.deepEqual(await found(`${scope} and ${comparison}`), wanted, comparison);
            const turned = `${text} ${mirrored[operator]} v`;
            assert.deepEqual(await found(`${scope} and (${turned})`), wanted, turned);
          }
        }
      });
    }
  });
}

describe('all types in one table', () => {
  for (const literal of types) {
    for (const operator of operators) {
      const text = samples[literal].literals[0] ?? '';
      const wanted = types.flatMap((type) => expected(type, operator, literal)).sort();

      it(`v ${operator} ${text}: never the entity that lacks v`, async () => {
        assert.deepEqual(await found(`v ${operator} ${text}`), wanted);
      });

      it(`not (v ${operator} ${text}): all others, the entity that lacks v included`, async () => {
        const others = allRows.filter((row) => !wanted.includes(row));
        assert.deepEqual(await found(`not (v ${operator} ${text})`), others);
      });
    }
  }

  it(`v ne '' finds whatever has v, of any type`, async () => {
    assert.deepEqual(await found(`v ne ''`), [...rows].sort());
  });
});
