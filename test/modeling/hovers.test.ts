import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { LanguageServer } from '../support/language-server.js';
import { root } from '../support/repository-files.js';

// What editors show of programs that use the library, as the compiler's language server tells it.

const folder = mkdtempSync(join(root, 'dist', 'hovers-'));
after(() => rmSync(folder, { recursive: true, force: true }));
writeFileSync(
  join(folder, 'tsconfig.json'),
  JSON.stringify({
    extends: '../../tsconfig.json',
    compilerOptions: { noEmit: true, incremental: false, rootDir: '..', tsBuildInfoFile: null },
    include: ['*.ts'],
    exclude: [],
  }),
);

const imports = `
import {
  bulk, dateTime, defineEntity, entitiesOf, enumeration, int32, key, mixedTableOf, string,
  transaction, writesOf, type CreateOf, type ReadOf, type TableGateway,
} from '../src/modeling/index.js';
import { otherPartition, samePartition, withIndexes } from '../src/modeling/patterns/indexes/index.js';
import { counter, openModel } from '../src/modeling/model/index.js';
declare const table: TableGateway;
`;

const employeeParts = `defineEntity({
  type: 'Employee',
  properties: {
    department: string(), id: int32(), firstName: string(), lastName: string(),
    level: enumeration('junior', 'senior').default('junior'), hiredAt: dateTime(),
    email: string(), rating: int32().optional(), note: string().optional(),
  },
  partitionKey: (p) => key\`\${p.department}\`,
  rowKey: (p) => key\`empid_\${p.id.padded(6)}\`,
});`;

const departmentParts = `defineEntity({
  type: 'Department',
  properties: { department: string(), name: string().optional(), count: int32().default(0) },
  partitionKey: (p) => key\`\${p.department}\`,
  rowKey: () => key\`department\`,
});`;

/** Definitions without names of their own. */
const unnamed = `
export const Employee = ${employeeParts}
export const Department = ${departmentParts}
`;

/** Definitions that interfaces give a name. */
const named = `
const employeeParts = ${employeeParts}
type EmployeeParts = typeof employeeParts;
export interface EmployeeDefinition extends EmployeeParts {}
export const Employee: EmployeeDefinition = employeeParts;
const departmentParts = ${departmentParts}
type DepartmentParts = typeof departmentParts;
export interface DepartmentDefinition extends DepartmentParts {}
export const Department: DepartmentDefinition = departmentParts;
`;

const uses = `
const indexed = withIndexes(Employee, {
  email: otherPartition({
    partitionKey: (p) => key\`email_\${p.email}\`,
    rowKey: (p) => key\`\${p.department}_\${p.id.padded(6)}\`,
  }),
  name: samePartition({ rowKey: (p) => key\`name_\${p.lastName}_\${p.id.padded(6)}\` }),
});
const counts = counter({
  source: Employee, view: Department,
  keyOf: ({ department }) => ({ department }), measures: { count: () => 1 },
});
const model = openModel({
  table, entities: { employees: indexed, departments: Department }, keeps: [counts],
});
const people = model.entities.employees;
const lookUp = people.by.email;
const employees = entitiesOf(Employee, table);
const writes = writesOf(Employee);
const mixed = mixedTableOf(table, Employee, Department);
const change = transaction(table);
const at = { department: 'Sales', id: 1 };
const here = { partition: { department: 'Sales' } };
declare const fresh: CreateOf<typeof Employee>;
declare const whole: ReadOf<typeof Employee>;
const found = await employees.get(at);
const inserted = await employees.insert(fresh);
const updated = await employees.update(at, (current) => ({ ...current, level: 'senior' as const }));
const query = employees.query(here);
const page = await query.page({ limit: 3 });
const few = await employees.query({ ...here, select: ['firstName'] }).toArray({ max: 3 });
const byEmail = await lookUp.get({ email: 'a', ...at });
const everybody = await model.read(['employees', 'departments'], { department: 'Sales' });
const [somebody] = everybody.employees;
const report = await bulk(table, [writes.insert(fresh)]);
for await (const listed of query) void listed;
for await (const either of mixed.query(here)) void either;
void [whole, found, inserted, updated, page, few, byEmail, somebody, change, report];
`;

/** The values that hold what was read or is to be written. */
const entities = [
  'fresh',
  'whole',
  'found',
  'inserted',
  'updated',
  'current',
  'query',
  'page',
  'few',
  'byEmail',
  'somebody',
  'listed',
  'either',
] as const;

type Shown = (name: string) => Promise<string>;

async function inEditor(name: string, text: string, look: (shown: Shown) => Promise<void>) {
  const file = join(folder, `${name}.ts`);
  writeFileSync(file, text);
  await using server = await LanguageServer.start(folder);
  server.open(file, text);
  assert.deepEqual(await server.errors(file), []);
  await look(async (value) => {
    // Where it is declared; of methods, where they are called.
    const declared = new RegExp(
      String.raw`(?<=const \[?)${value}\b|(?<=\()${value}\b|(?<=\.)${value}\(`,
    );
    const before = text.slice(0, text.search(declared)).split('\n');
    const shown = await server.hover(file, before.length - 1, before.at(-1)?.length ?? 0);
    assert.match(shown, new RegExp(String.raw`\b${value}\b`));
    return shown;
  });
}

/** The parts of a definition. */
const parts = /\b(Property|KeyTemplate|KeyPart)</;

function assertShort(shown: string, lines: number, characters: number): void {
  const found = shown.split('\n').length;
  assert.ok(found <= lines && shown.length <= characters, `${found} lines:\n${shown}`);
}

describe('what editors show', () => {
  it('names a definition that has a name, in whatever is made of it', async () => {
    await inEditor('named', imports + named + uses, async (shown) => {
      for (const name of ['Employee', 'employees', 'writes', 'mixed', 'change', 'report']) {
        const text = await shown(name);
        assertShort(text, 1, 80);
        assert.doesNotMatch(text, parts);
      }
      assert.equal(await shown('employees'), 'const employees: Entities<EmployeeDefinition>');
      for (const name of ['indexed', 'people', 'model', 'everybody']) {
        const text = await shown(name);
        assertShort(text, 6, 240);
        assert.match(text, /<NoInfer<EmployeeDefinition>, /);
        assert.doesNotMatch(text, parts);
      }
      // A look-up has keys of its own, which no definition names.
      const lookUp = await shown('lookUp');
      assertShort(lookUp, 1, 300);
      assert.match(lookUp, /: CopyLookUp<NoInfer<EmployeeDefinition>, /);
    });
  });

  it('lists the members of entities, never their definition', async () => {
    for (const [name, definitions] of Object.entries({ named, unnamed })) {
      await inEditor(`entities-of-${name}`, imports + definitions + uses, async (shown) => {
        for (const value of entities) {
          const text = await shown(value);
          assertShort(text, value === 'either' ? 21 : 11, 650);
          assert.match(text, /\breadonly firstName: string;/);
          assert.doesNotMatch(text, parts);
        }
      });
    }
  });

  it('shows calls with the members of what they take and give', async () => {
    await inEditor('calls', imports + named + uses, async (shown) => {
      for (const method of ['get', 'insert']) {
        const text = await shown(method);
        assertShort(text, 24, 900);
        assert.match(text, /Entities<EmployeeDefinition>\./);
        assert.doesNotMatch(text, parts);
      }
    });
  });

  it('begins with the type of a definition that has no name', async () => {
    await inEditor('unnamed', imports + unnamed + uses, async (shown) => {
      for (const name of ['Employee', 'employees', 'writes', 'mixed', 'lookUp']) {
        const text = await shown(name);
        assertShort(text, 12, 650);
        assert.match(text, /\bEntityDefinition<"Employee", /);
      }
      for (const name of ['indexed', 'people', 'model', 'everybody']) {
        const text = await shown(name);
        assertShort(text, 6, 260);
        assert.doesNotMatch(text, parts);
      }
    });
  });
});
