// What the types of the modelling library cost: programs of some fifty definitions and their uses,
// without and with a model for each, are type-checked against the built declarations. Counts do not
// depend on the machine, so they have a budget; times are told for information. Figures:
// docs/internals/modeling-benchmark.md.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const definitions = 50;
/** For each definition with its uses, and for each model besides. */
const budgets = {
  definition: { instantiations: 3600, types: 400 },
  model: { instantiations: 6200, types: 700 },
};

const root = fileURLToPath(new URL('../', import.meta.url));
const folder = join(root, 'dist', 'bench-types');

const header = `import {
  boolean, dateTime, defineEntity, double, embedded, entitiesOf, enumeration, guid, instant, int32,
  int64, json, key, list, string, transaction, type TableGateway,
  mixedTableOf,
} from '../src/modeling/index.js';
import { indexEntity, otherPartition, samePartition, withIndexes } from '../src/modeling/patterns/indexes/index.js';
import { copies, counter, openModel } from '../src/modeling/model/index.js';

declare const table: TableGateway;
void [boolean, dateTime, defineEntity, double, embedded, entitiesOf, enumeration, guid, instant,
  int32, int64, json, key, list, string, transaction, table, mixedTableOf, indexEntity,
  otherPartition, samePartition, withIndexes, copies, counter, openModel];
`;

const definition = (n) => `
const Entity${n} = defineEntity({
  type: 'Entity${n}',
  properties: {
    tenant${n}: string(), id: int32(), year: int32(), name: string(), email: string().optional(),
    level: enumeration('low', 'high').default('low'), salary: double().optional(), big: int64(),
    active: boolean().default(true), token: guid(), at: instant(), on: dateTime().readOnly(),
    tags: list<string>(), notes: json<{ text: string }>().optional(),
    search: string().computed({ name: string() }, ({ name }) => name.toLowerCase()),
    address: embedded({ city: string(), zip: string().optional() }), secret${n}: string().named('S ${n}'),
  },
  partitionKey: (p) => key\`\${p.tenant${n}}\`,
  rowKey: (p) => key\`e${n}_\${p.id.padded(6)}_\${p.year.padded(4)}\`,
});
export async function use${n}() {
  const entities = entitiesOf(Entity${n}, table);
  const at = { tenant${n}: 'a', id: 1, year: 2 };
  const found = await entities.get(at);
  if (found !== undefined) await entities.replace({ ...found, name: found.name + '!' });
  await entities.update(at, (now) => ({ ...now, level: 'high' as const }));
  await entities.merge(at, { salary: 1 }, { ifMatch: 'any' });
  const query = entities.query({
    partition: { tenant${n}: 'a' }, prefix: { id: 1 },
    where: (p) => p.name.eq('x').and(p.salary.gt(1), p.address.city.startsWith('R')),
    select: ['name', 'salary'],
  });
  for await (const { name, salary } of query) void [name, salary];
  await transaction(table).delete(Entity${n}, at, { ifMatch: 'any' }).run();
}
`;

/**
 * A table of the entity and its group: three indexes, a count, a copy, and what reads and writes
 * them.
 */
const model = (n) => `
const Group${n} = defineEntity({
  type: 'Group${n}',
  properties: {
    tenant${n}: string(), count: int32().default(0), leadId: int32().optional(), lead: string().optional(),
  },
  partitionKey: (p) => key\`\${p.tenant${n}}\`,
  rowKey: () => key\`group\`,
});
export async function model${n}() {
  const model = openModel({
    table,
    entities: {
      entities: withIndexes(Entity${n}, {
        level: otherPartition({
          partitionKey: (p) => key\`level_\${p.level}\`,
          rowKey: (p) => key\`\${p.tenant${n}}_\${p.id.padded(6)}\`,
          include: ['name'],
        }),
        name: samePartition({ rowKey: (p) => key\`name_\${p.name}_\${p.id.padded(6)}\` }),
        search: indexEntity({ place: 'same-partition', rowKey: (p) => key\`search_\${p.search}\` }),
      }),
      groups: Group${n},
    },
    keeps: [
      counter({
        source: Entity${n},
        view: Group${n},
        keyOf: ({ tenant${n} }) => ({ tenant${n} }),
        measures: { count: () => 1 },
      }),
      copies({
        source: Entity${n},
        target: Group${n},
        sourceOf: ({ tenant${n}, leadId: id }) => (id === undefined ? undefined : { tenant${n}, id, year: 1 }),
        targetsOf: ({ tenant${n} }) => [{ tenant${n} }],
        copy: (lead) => ({ lead: lead?.name }),
      }),
    ],
  });
  const { entities, groups } = model.entities;
  const at = { tenant${n}: 'a' };
  await groups.update(at, (group) => ({ ...group, leadId: 1 }));
  for await (const { name } of entities.by.level.query({ partition: { level: 'low' } })) void name;
  for await (const { name } of entities.by.name.query({ partition: at, prefix: { name: 'x' } })) void name;
  const found = await model.read(['entities', 'groups'], at);
  void [found.entities[0]?.name, found.groups[0]?.count];
  await model.transaction().increment(Group${n}, at, 'leadId').run();
  const mixed = mixedTableOf(model.table, Entity${n}, Group${n}).query({
    partition: at,
    where: { Entity${n}: (p) => p.level.eq('low'), Group${n}: 'all' },
  });
  for await (const { type, entity } of mixed) void (type === 'Group${n}' ? entity.count : entity.name);
}
`;

/** What the compiler tells. Of a program that does not compile, the first of its errors. */
function checked(command) {
  const { status, stdout } = spawnSync(process.execPath, command, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status === 0) return stdout;
  process.stderr.write(
    `the program of the benchmark does not compile:\n${stdout.slice(0, 2000)}\n`,
  );
  throw new Error(`the compiler ended with ${status}`);
}

function measure(name, text) {
  writeFileSync(join(folder, `${name}.ts`), text);
  writeFileSync(
    join(folder, `tsconfig.${name}.json`),
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions: { noEmit: true, incremental: false, rootDir: '..', tsBuildInfoFile: null },
      include: [`${name}.ts`],
      exclude: [],
    }),
  );
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['-p', join(folder, `tsconfig.${name}.json`), '--extendedDiagnostics'];
  const report = checked([tsc, ...options, '--singleThreaded']);
  const number = (label) => Number(new RegExp(`^${label}:\\s+([\\d.]+)`, 'm').exec(report)?.[1]);
  return {
    types: number('Types'),
    instantiations: number('Instantiations'),
    seconds: number('Check time'),
  };
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
try {
  const several = (part) => Array.from({ length: definitions }, (_unused, n) => part(n)).join('');
  const empty = measure('empty', `${header}export {};\n`);
  const plain = measure('plain', header + several(definition));
  const modelled = measure('modelled', header + several(definition) + several(model));
  const costs = { definition: [empty, plain], model: [plain, modelled] };
  let isOver = false;
  for (const [each, [less, more]] of Object.entries(costs)) {
    for (const [name, budget] of Object.entries(budgets[each])) {
      const found = Math.round((more[name] - less[name]) / definitions);
      process.stdout.write(`${name} for each ${each}: ${found}, budget ${budget}\n`);
      // Not a number is over as well.
      isOver ||= !(found <= budget);
    }
    const seconds = (more.seconds - less.seconds).toFixed(2);
    process.stdout.write(`checking ${definitions} of a ${each} took ${seconds} s\n`);
  }
  if (isOver) {
    process.stderr.write('The types cost more than their budget.\n');
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
