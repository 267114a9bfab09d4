import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { productOf, rulesOf } from './product.js';

describe('the product of a database', () => {
  it('is told by its version', () => {
    const versions = {
      'PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu': 'PostgreSQL',
      'CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu, built 2024/05/15)': 'CockroachDB',
      'PostgreSQL 15.2-YB-2025.2.0.0-b0 on x86_64-pc-linux-gnu': 'YugabyteDB',
      'PostgreSQL 11.2-YB-2.20.0.0-b0 on x86_64-pc-linux-gnu': 'YugabyteDB',
    } as const;
    for (const [version, product] of Object.entries(versions)) {
      assert.equal(productOf(version), product, version);
    }
  });

  it('decides how keys are ordered and whether tables may be there', () => {
    const table = 'create table t (key bytea, primary key (key)); create index i on t (key asc)';
    assert.equal(rulesOf('PostgreSQL').adapt(table), table);
    assert.equal(
      rulesOf('CockroachDB').adapt(table),
      'create table if not exists t (key bytea, primary key (key)); ' +
        'create index if not exists i on t (key asc)',
    );
    assert.match(rulesOf('YugabyteDB').adapt(table), /if not exists t .*primary key \(key asc\)/);
  });

  it('has functions only where they were run', () => {
    const files = (product: Parameters<typeof rulesOf>[0]) => rulesOf(product).migrations;
    assert.ok(files('PostgreSQL').some((file) => file.includes('commits')));
    for (const product of ['CockroachDB', 'YugabyteDB'] as const) {
      assert.equal(rulesOf(product).hasFunctions, false);
      assert.deepEqual(files(product), ['0001-tables.sql', '0003-slots.sql']);
    }
  });
});
