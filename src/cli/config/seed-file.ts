import { dirname, resolve } from 'node:path';
import { isMap, isPair, isScalar, visit, type Document, type Scalar } from 'yaml';
import type {
  SeedAccount,
  SeedContainer,
  SeedData,
  SeedEntity,
  SeedError,
  SeedTable,
} from '../../app/index.js';
import { CommandFailure } from '../terminal/failure.js';
import { printable } from '../terminal/terminal.js';
import { checkSchema } from './schema-check.js';
import { SeedBlobFiles, type ContainerText } from './seed-blobs.js';
import { SeedRows } from './seed-rows.js';
import { plainValue, readStructuredFile } from './structured-file.js';

/** A loaded seed file. */
export interface LoadedSeed {
  readonly data: SeedData;
  /** The total bytes of the files that it names, and those read so far. */
  readonly bytesTotal: number;
  readonly bytesRead: () => number;
  /** Converts a mistake to a message for people, with its position. */
  readonly explain: (error: SeedError) => CommandFailure;
}

/** The seed after validation by the schema. */
interface SeedText extends Omit<SeedData, keyof SeedAccount | 'accounts'>, AccountText {
  readonly $schema?: string;
  readonly accounts?: Readonly<Record<string, AccountText>>;
}

type AccountText = Pick<SeedAccount, 'queues'> & {
  readonly tables?: Readonly<Record<string, TableText | null>>;
  readonly containers?: Readonly<Record<string, ContainerText | null>>;
};

interface TableText {
  readonly entities?: readonly SeedEntity[];
  readonly files?: readonly string[];
}

const seedBytesMax = 64 * 1024 * 1024;

/**
 * Reads a seed file of YAML or JSON (`schemas/seed.schema.json`). Throws `UsageError` with the
 * file, the position and what is allowed there, `CommandFailure` when a file that it names cannot
 * be read.
 */
export async function loadSeed(name: string): Promise<LoadedSeed> {
  const file = await readStructuredFile(name, seedBytesMax);
  keepNumbers(file.document);
  const value = plainValue(file) ?? {};
  checkSchema('seed', file, value);
  const { $schema: _, accounts, ...first } = value as SeedText;
  const folder = dirname(resolve(name));
  const rows = new SeedRows();
  const files = new SeedBlobFiles(folder);
  const accountOf = async (text: AccountText): Promise<SeedAccount> => {
    const tables: [string, SeedTable | null][] = [];
    for (const [table, content] of Object.entries(text.tables ?? {})) {
      const paths = (content?.files ?? []).map((path) => resolve(folder, path));
      const stream = paths.length === 0 ? {} : { stream: await rows.open(paths) };
      tables.push([table, { entities: content?.entities ?? [], ...stream }]);
    }
    const containers: [string, SeedContainer | null][] = [];
    for (const [container, content] of Object.entries(text.containers ?? {})) {
      containers.push([container, content && (await files.container(content))]);
    }
    return {
      tables: Object.fromEntries(tables),
      queues: text.queues ?? {},
      containers: Object.fromEntries(containers),
    };
  };
  const others: [string, SeedAccount][] = [];
  for (const [account, text] of Object.entries(accounts ?? {})) {
    others.push([account, await accountOf(text)]);
  }
  const { ifExists } = first;
  return {
    data: {
      ...(await accountOf(first)),
      accounts: Object.fromEntries(others),
      ...(ifExists === undefined ? {} : { ifExists }),
    },
    bytesTotal: rows.bytesTotal + files.bytesTotal,
    bytesRead: () => rows.bytesRead + files.bytesRead,
    explain(error) {
      const lines = [error, ...error.others].map(({ path, reason, entity }) => {
        const origin = entity === undefined ? undefined : rows.originOf(entity);
        const what = path.filter((part) => !lists.has(part)).slice(-4);
        const place = origin ?? file.location(path);
        return `${place}: ${subject(what, entity)}${reason.replace(/\.$/, '')}.`;
      });
      return new CommandFailure(lines);
    },
  };
}

/** Members between the names of a path, which messages leave out. */
const lists: ReadonlySet<string | number> = new Set(['stream', 'entities', 'blobs']);

/** The table, queue or container, and the entity or blob, of a path. */
function subject(path: readonly (string | number)[], entity: SeedEntity | undefined): string {
  const names = path.filter((part) => typeof part === 'string').map(printable);
  if (entity === undefined) return names.length === 0 ? '' : `${names.join(' ')}: `;
  const keys = [entity['PartitionKey'], entity['RowKey']].map((key) => JSON.stringify(key ?? null));
  return `${names.join(' ')} (${keys.join(', ')}): `;
}

/**
 * Types the numbers of entities by their digits: `1.0` is a Double, and no digit of an Int64 is
 * lost.
 */
function keepNumbers(document: Document): void {
  visit(document, {
    Scalar(key, node, path) {
      if (key === 'key' || typeof node.value !== 'number' || !isOfEntity(path)) return undefined;
      const type = exactType(node);
      if (type === undefined) return undefined;
      const isTyped = isValueOfType(path);
      const text = node.source ?? String(node.value);
      const exact = document.createNode(isTyped ? text : { type, value: text });
      exact.range = node.range ?? null;
      return exact;
    },
  });
}

/** The type of a number that its JavaScript value does not show. */
function exactType({ value, source = '' }: Scalar): 'Double' | 'Int64' | undefined {
  if (!Number.isInteger(value)) return undefined;
  if (/^[-+]?[\d.]+(?:[eE][-+]?\d+)?$/.test(source) && /[.eE]/.test(source)) return 'Double';
  return Number.isSafeInteger(value) ? undefined : 'Int64';
}

function isOfEntity(path: readonly unknown[]): boolean {
  return path.some((node) => isPair(node) && isScalar(node.key) && node.key.value === 'entities');
}

/** True when a scalar is the `value` of `{ type: …, value: … }`. */
function isValueOfType(path: readonly unknown[]): boolean {
  const [map, pair] = path.slice(-2);
  const isValue = isPair(pair) && isScalar(pair.key) && pair.key.value === 'value';
  return isValue && isMap(map) && map.has('type');
}
