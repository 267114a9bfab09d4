// What the types of the modelling library cost: a program of some fifty definitions and their uses
// is type-checked against the built declarations. Counts do not depend on the machine, so they have
// a budget; times are told for information.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const definitions = 50;
/** Type instantiations for each definition with its uses. */
const instantiationsMax = 3600;
/** Types for each definition with its uses. */
const typesMax = 400;

const root = fileURLToPath(new URL('../', import.meta.url));
const folder = join(root, 'dist', 'bench-types');

const header = `import {
  boolean, dateTime, defineEntity, double, embedded, entitiesOf, enumeration, guid, instant, int32,
  int64, json, key, list, string, transaction, type TableGateway,
} from '../src/modeling/index.js';

declare const table: TableGateway;
void [boolean, dateTime, defineEntity, double, embedded, entitiesOf, enumeration, guid, instant,
  int32, int64, json, key, list, string, transaction, table];
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
  const report = execFileSync(process.execPath, [tsc, ...options, '--singleThreaded'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
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
  const empty = measure('empty', `${header}export {};\n`);
  const full = measure(
    'full',
    header + Array.from({ length: definitions }, (_unused, n) => definition(n)).join(''),
  );
  const share = (name) => Math.round((full[name] - empty[name]) / definitions);
  const rows = [
    ['instantiations', share('instantiations'), instantiationsMax],
    ['types', share('types'), typesMax],
  ];
  for (const [name, found, budget] of rows) {
    process.stdout.write(`${name} for each definition: ${found}, budget ${budget}\n`);
  }
  const seconds = (full.seconds - empty.seconds).toFixed(2);
  process.stdout.write(`checking ${definitions} definitions took ${seconds} s\n`);
  if (rows.some(([, found, budget]) => !(found <= budget))) {
    process.stderr.write('The types cost more than their budget.\n');
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
