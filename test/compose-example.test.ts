import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { parse } from 'yaml';
import { optionRows } from '../src/app/options/table.js';
import { longOf } from '../src/app/options/option.js';

// The composition cannot be run without containers. What it says of the servers is compared with
// the table of options, and what its parts say of each other.

interface Composition {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly command?: string | readonly string[];
        readonly environment?: Readonly<Record<string, string>>;
        readonly configs?: readonly { readonly source: string }[];
      }
    >
  >;
  readonly configs: Readonly<Record<string, { readonly content: string }>>;
}

const file = new URL('../../examples/postgres/compose.yaml', import.meta.url);

void it('gives servers options and variables that there are, and a balancer their ports', async () => {
  const composition = parse(await readFile(file, 'utf8'), { merge: true }) as Composition;
  const { services, configs } = composition;
  const flags = optionRows().flatMap(([, { flags: list }]) => list ?? []);
  const spellings = new Set(flags.map((flag) => longOf(flag)));
  const variables = new Set(flags.flatMap(({ variable }) => variable ?? []));
  for (const name of ['first', 'second']) {
    const { command = '', environment = {} } = services[name] ?? {};
    const given = String(command).match(/--[a-z-]+/g) ?? [];
    assert.notDeepEqual(given, []);
    for (const flag of given) assert.ok(spellings.has(flag), flag);
    for (const variable of Object.keys(environment)) assert.ok(variables.has(variable), variable);
    for (const port of [10_000, 10_001, 10_002]) {
      assert.ok(configs['balancer']?.content.includes(`server ${name} ${name}:${port}\n`));
    }
  }
  for (const [name, { configs: used = [] }] of Object.entries(services)) {
    for (const { source } of used) assert.ok(source in configs, `${name}: ${source}`);
  }
  // The name by which the primary knows its standby is that of its cluster.
  assert.match(configs['replication']?.content ?? '', /synchronous_standby_names = 'standby'/);
  assert.match(String(services['standby']?.command), /cluster_name=standby\b/);
});
