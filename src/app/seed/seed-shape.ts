import { mistakesIn } from '../../base/shape/check.js';
import {
  anyNumber,
  boolean,
  choice,
  either,
  instance,
  list,
  member,
  nothing,
  object,
  record,
  shapeOf,
  text,
  whole,
  type Shape,
} from '../../base/shape/shape.js';
import { accessTiers } from '../../wire/blobs/tier-headers.js';
import { contentTypeDefault } from '../../model/blobs/properties.js';
import { timeToLiveSecondsDefault, visibilitySecondsMax } from '../../services/queues/limits.js';
import {
  SeedError,
  type SeedAccount,
  type SeedBlob,
  type SeedContainer,
  type SeedData,
  type SeedEntity,
  type SeedMessage,
  type SeedProgress,
  type SeedQueue,
  type SeedTable,
  type SeedType,
  type SeedTypedValue,
  type SeedValue,
} from './seed-data.js';

// The shape of a seed, for programs, files and the published schema.

const types: readonly SeedType[] = [
  'String',
  'Int32',
  'Int64',
  'Double',
  'Boolean',
  'DateTime',
  'Guid',
  'Binary',
];
const typeName: Shape<SeedTypedValue['type']> = {
  ...choice([...types, ...types.map((type) => `Edm.${type}` as const)]),
  expected: `${types.slice(0, -1).join(', ')} or ${types.at(-1)}, with or without Edm. before it`,
  definition: {
    name: 'typeName',
    description: 'A type of the data model, with or without Edm. before it.',
  },
};

const anyText = text({ charactersMin: 0 });

const typedValue: Shape<SeedTypedValue> = object<SeedTypedValue>(
  {
    type: member(typeName, 'The type of the value.', 'Int64'),
    value: member(
      either([instance<bigint>('bigint'), instance<number>('number'), anyText, anyNumber, boolean]),
      'The value as text; numbers and booleans may also stand as they are.',
      '9007199254740993',
    ),
  },
  { required: ['type', 'value'] },
);

const value: Shape<SeedValue> = either(
  [
    instance<Date>('Date'),
    instance<Uint8Array>('bytes'),
    instance<bigint>('bigint'),
    instance<number>('number'),
    instance<undefined>('undefined'),
    anyText,
    anyNumber,
    boolean,
    nothing,
    typedValue,
  ],
  {
    expected: 'a text, a number, true, false, null or { type: …, value: … }',
    definition: {
      name: 'value',
      description:
        'A text, a number, true or false; null for no property; or a value with its type.',
    },
  },
);

const entity: Shape<SeedEntity> = shapeOf(
  object<{ readonly PartitionKey: string; readonly RowKey: string }>(
    {
      PartitionKey: member(anyText, 'The partition of the entity.', 'a'),
      RowKey: member(anyText, 'What tells the entity apart in its partition.', '1'),
    },
    {
      required: ['PartitionKey', 'RowKey'],
      others: value,
      like: {
        names: /^(?!odata\.).*@odata\.type$/,
        member: member(
          typeName,
          'The type of the property whose name stands before the @.',
          'DateTime',
        ),
      },
      definition: {
        name: 'entity',
        description:
          'An entity: PartitionKey, RowKey and properties. A text is a String, a whole number an ' +
          'Int32 or, beyond that, an Int64; any other number is a Double. Other types are written ' +
          '{ type: DateTime, value: … }, or with an annotation Name@odata.type beside the text.',
      },
    },
  ),
);

/** A table in a program or a file. */
interface SeedTableInput extends SeedTable {
  readonly files?: readonly string[];
}

const table: Shape<SeedTable | null> = either(
  [
    object<SeedTableInput>({
      entities: member(list(entity), 'Entities, each with PartitionKey and RowKey.', [
        { PartitionKey: 'a', RowKey: '1', Name: 'Ann' },
      ]),
      stream: member(
        instance<AsyncIterable<SeedEntity>>('object', { expected: 'an async iterable' }),
        'More entities, of which only some are held at a time.',
        undefined,
        'program',
      ),
      files: member(
        list(text()),
        'More entities, in files of CSV, TSV, JSON or JSONL with columns PartitionKey and RowKey. ' +
          'Relative paths start at the folder of this file.',
        ['people.csv'],
        'file',
      ),
    }),
    nothing,
    instance<null>('undefined'),
  ],
  {
    expected: 'an object, or null for a table without entities',
    definition: { name: 'table', description: 'A table and the entities that it begins with.' },
  },
);

const message: Shape<string | SeedMessage> = either(
  [
    anyText,
    object<SeedMessage>(
      {
        text: member(
          anyText,
          'The text as clients receive it; those that expect base64 need base64 here.',
          'resize 42.png',
        ),
        visibilitySeconds: member(
          whole(0, visibilitySecondsMax),
          'How long it stays invisible at first. Default: 0.',
          60,
        ),
        timeToLiveSeconds: member(
          shapeOf<number>({
            ...whole(-1, 2_147_483_647, { but: 0 }),
            expected: 'a whole number from 1 to 2147483647, or -1 for ever',
          }),
          `How long it lives; -1 for ever. Default: ${timeToLiveSecondsDefault}, seven days.`,
          -1,
        ),
      },
      { required: ['text'] },
    ),
  ],
  {
    expected: 'a text, or an object with a text and its times',
    definition: {
      name: 'message',
      description: 'The text of a message, or a message with its times.',
    },
  },
);

const metadata = member(record(anyText), 'Metadata: names and texts.', { owner: 'billing' });

const queue: Shape<SeedQueue | null> = either(
  [
    object<SeedQueue>({
      metadata,
      messages: member(list(message), 'Messages in the order in which they are handed out.', [
        'first',
        { text: 'second', visibilitySeconds: 60 },
      ]),
    }),
    nothing,
    instance<null>('undefined'),
  ],
  {
    expected: 'an object, or null for a queue without messages',
    definition: { name: 'queue', description: 'A queue and the messages that it begins with.' },
  },
);

const tables = record(table, {
  definition: { name: 'tables', description: 'Tables by name.' },
});
const queues = record(queue, {
  definition: { name: 'queues', description: 'Queues by name.' },
});

/** A blob in a program or a file. */
interface SeedBlobInput extends SeedBlob {
  readonly file?: string;
}

const blob: Shape<string | SeedBlob | null> = either(
  [
    anyText,
    object<SeedBlobInput>({
      type: member(
        choice(['block', 'append', 'page']),
        'The type of the blob. The content of a page blob gets zeros up to a multiple of 512 ' +
          'bytes. Default: block.',
        'append',
      ),
      tier: member(
        choice(accessTiers),
        'The access tier: Hot, Cool, Cold or Archive of a block blob, P4 to P80 of a page blob.',
        'Cool',
      ),
      text: member(anyText, 'The content as text, which is stored as UTF-8.', 'Hello'),
      base64: member(anyText, 'The content in base64.', 'SGVsbG8='),
      bytes: member(instance<Uint8Array>('bytes'), 'The content.', undefined, 'program'),
      stream: member(
        instance<() => AsyncIterable<Uint8Array>>('function', {
          expected: 'a function that returns an async iterable',
        }),
        'Gives the content in pieces when the blob is written.',
        undefined,
        'program',
      ),
      file: member(
        text(),
        'The file with the content. A relative path starts at the folder of this file.',
        'cat.jpg',
        'file',
      ),
      contentType: member(anyText, `The media type. Default: ${contentTypeDefault}.`, 'image/jpeg'),
      contentEncoding: member(anyText, 'How the content is encoded.', 'gzip'),
      contentLanguage: member(anyText, 'The language of the content.', 'en'),
      contentDisposition: member(
        anyText,
        'How browsers show the content.',
        'attachment; filename="cat.jpg"',
      ),
      cacheControl: member(anyText, 'How long caches keep the content.', 'max-age=60'),
      metadata,
      tags: member(record(anyText), 'Tags: up to 10 names and texts.', { project: 'garden' }),
    }),
    nothing,
    instance<null>('undefined'),
  ],
  {
    expected: 'a text, an object, or null for a blob without content',
    definition: {
      name: 'blob',
      description:
        'A blob: its content as text, or an object with one of text, base64 and file beside ' +
        'its properties.',
    },
  },
);

const container: Shape<SeedContainer | null> = either(
  [
    object<SeedContainer>({
      metadata,
      publicAccess: member(
        choice(['none', 'blob', 'container']),
        'What may be read without credentials: nothing, blobs whose names are known, or all that ' +
          'the container has. Default: none.',
        'blob',
      ),
      blobs: member(record(blob), 'Blobs by name.', {
        'notes/hello.txt': 'Hello',
        'cat.jpg': { file: 'cat.jpg', contentType: 'image/jpeg' },
      }),
    }),
    nothing,
    instance<null>('undefined'),
  ],
  {
    expected: 'an object, or null for a container without blobs',
    definition: {
      name: 'container',
      description: 'A container and the blobs that it begins with.',
    },
  },
);

const containers = record(container, {
  definition: { name: 'containers', description: 'Containers of blobs by name.' },
});

const account: Shape<SeedAccount> = shapeOf(
  object<SeedAccount>(
    {
      tables: member(tables, 'Tables by name.', { people: {} }),
      queues: member(queues, 'Queues by name.', { work: {} }),
      containers: member(containers, 'Containers of blobs by name.', { photos: {} }),
    },
    { definition: { name: 'account', description: 'What an account gets.' } },
  ),
);

interface SeedInput extends SeedData {
  readonly $schema?: string;
}

export const seedShape: Shape<SeedData> = shapeOf(
  object<SeedInput>({
    $schema: member(
      anyText,
      'Where an editor finds this schema. The server does not look at it.',
      './node_modules/tabularium/schemas/seed.schema.json',
      'file',
    ),
    ifExists: member(
      choice(['skip', 'replace']),
      'skip: entities, queues, containers and blobs that exist stay as they are. replace: entities ' +
        'and blobs are overwritten, queues get the metadata and messages of this file instead of ' +
        'theirs, containers its metadata and public access. Default: skip.',
      'skip',
    ),
    tables: member(tables, 'Tables of the first account, by name.', {
      people: { entities: [{ PartitionKey: 'a', RowKey: '1' }] },
    }),
    queues: member(queues, 'Queues of the first account, by name.', {
      work: { messages: ['first'] },
    }),
    containers: member(containers, 'Containers of the first account, by name.', {
      photos: { blobs: { 'hello.txt': 'Hello' } },
    }),
    accounts: member(
      record(account, { names: /^[a-z0-9]{3,24}$/ }),
      'Tables, queues and containers of other accounts, by the name of the account.',
      { orders: { queues: { work: {} } } },
    ),
    progress: member(
      instance<(progress: SeedProgress) => void>('function'),
      'Called now and then with what has been done so far.',
      undefined,
      'program',
    ),
  }),
);

/** Throws `SeedError` for a seed of another shape. Nothing has been created then. */
export function checkSeedShape(data: unknown): void {
  const [first, ...others] = mistakesIn(seedShape, data).shown.map(
    ({ path, problem }) => new SeedError(path, problem),
  );
  if (first === undefined) return;
  throw new SeedError(first.path, first.reason, undefined, others);
}
