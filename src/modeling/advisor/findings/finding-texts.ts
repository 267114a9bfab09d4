import { byteText } from '../../../base/byte-text.js';
import { amount, counted, percent } from './number-text.js';

/** The figures of each finding. Rates are per second, shares 0 to 1. */
export interface Figures {
  readonly 'hot-partition': {
    readonly place: string;
    readonly entitiesPerSecond: number;
    readonly target: number;
    /** Partitions beyond the target. 0: the busiest only comes near. */
    readonly partitions: number;
    /** The share of the traffic that the busiest partition gets. */
    readonly share: number;
    /** The operation that contributes most. */
    readonly operation: string;
    /** Whether that operation reads ranges of rows, or few rows often. */
    readonly cause: 'scan' | 'traffic';
  };
  readonly 'single-partition': {
    readonly rows: number;
    readonly entitiesPerSecond: number;
    readonly target: number;
  };
  readonly 'busy-account': { readonly requestsPerSecond: number; readonly target: number };
  readonly 'full-account': { readonly bytes: number; readonly target: number };
  readonly 'append-key': KeyMotionFigures;
  readonly 'prepend-key': KeyMotionFigures;
  readonly 'maybe-append-key': KeyMotionFigures;
  readonly 'entity-too-large': { readonly bytes: number; readonly limit: number };
  readonly 'property-too-large': {
    readonly property: string;
    readonly bytes: number;
    readonly limit: number;
  };
  readonly 'too-many-properties': { readonly properties: number; readonly limit: number };
  readonly 'key-too-long': {
    readonly key: KeyName;
    readonly units: number;
    readonly limit: number;
  };
  readonly 'transaction-too-many': { readonly writes: number; readonly limit: number };
  readonly 'transaction-too-large': { readonly bytes: number; readonly limit: number };
  readonly 'table-scan': ScanFigures;
  readonly 'wide-scan': ScanFigures;
  readonly 'index-not-used': { readonly index: string; readonly property: string };
  readonly 'unselective-index': {
    readonly values: number;
    /** Share of the rows that a look-up finds. */
    readonly share: number;
    readonly rowsPerLookUp: number;
  };
  readonly 'skewed-index': {
    readonly value: string;
    readonly share: number;
    readonly rows: number;
  };
  readonly 'large-index-row': {
    readonly entries: number;
    readonly bytes: number;
    readonly limit: number;
  };
  readonly 'volatile-copy': {
    readonly changesPerSecond: number;
    readonly lookUpsPerSecond: number;
    readonly copied: number;
  };
  readonly 'unused-index': { readonly writesPerSecond: number; readonly bytes: number };
  readonly 'sizes-assumed': { readonly properties: string; readonly units: number };
  readonly 'reads-assumed': { readonly rows: number };
  readonly 'partial-measurement': { readonly of: string };
}

export type KeyName = 'PartitionKey' | 'RowKey';

interface KeyMotionFigures {
  readonly key: KeyName;
  readonly property: string;
  readonly insertsPerSecond: number;
  /** The share of inserts that follow one another. */
  readonly share: number;
  readonly target: number;
}

interface ScanFigures {
  readonly perSecond: number;
  readonly entitiesRead: number;
  readonly entitiesReturned: number;
  readonly requests: number;
}

/** The codes of findings, which never change. */
export type FindingCode = keyof Figures;

/** The texts of a finding. */
interface FindingText<F> {
  readonly problem: (figures: F) => string;
  readonly advice: (figures: F) => string;
  /** The page of the guide. */
  readonly page: string;
}

const nodeOfRange = 'one node serves that end of the key range, however many the table has';

/** The texts of every finding, by its code. Codes and names of figures never change. */
export const findingTexts: { readonly [C in FindingCode]: FindingText<Figures[C]> } = Object.freeze(
  {
    'hot-partition': {
      problem: ({ place, entitiesPerSecond, target, partitions, share, operation }) =>
        `The busiest partition of ${place} has ${percent(share)} of the traffic: ` +
        `${amount(entitiesPerSecond)} entities/s, most of them for '${operation}'. ` +
        (partitions === 0
          ? `That is near the ${amount(target)} a partition is good for.`
          : `${counted(partitions, 'partition')} ${partitions === 1 ? 'passes' : 'pass'} ` +
            `the ${amount(target)} a partition is good for.`),
      advice: ({ operation, cause }) =>
        cause === 'scan'
          ? `Let '${operation}' read less: by a RowKey or an index that leads to what it returns.`
          : 'Put a part into the PartitionKey that divides this traffic, or spread the partition ' +
            'over buckets and read them together.',
      page: 'spread-keys',
    },
    'single-partition': {
      problem: ({ rows, entitiesPerSecond, target }) =>
        `All ${amount(rows)} rows are in one partition, which cannot be divided. It gets ` +
        `${amount(entitiesPerSecond)} entities/s and is good for ${amount(target)}.`,
      advice: () =>
        'Put into the PartitionKey what most queries know, such as the department; keep in one ' +
        'partition only what one transaction must change.',
      page: 'compound-key',
    },
    'busy-account': {
      problem: ({ requestsPerSecond, target }) =>
        `The account gets ${amount(requestsPerSecond)} requests/s and is good for ${amount(target)}.`,
      advice: () =>
        'Divide the tables over accounts, write in transactions, and keep small tables in memory.',
      page: 'reference-data',
    },
    'full-account': {
      problem: ({ bytes, target }) =>
        `The rows take ${byteText(bytes)}; an account holds ${byteText(target)}.`,
      advice: () => 'Divide the rows over accounts, or drop old ones by the table.',
      page: 'high-volume-delete',
    },
    'append-key': {
      problem: (figures) => keyMotion(figures, 'behind'),
      advice: keyMotionAdvice,
      page: 'spread-keys',
    },
    'prepend-key': {
      problem: (figures) => keyMotion(figures, 'before'),
      advice: keyMotionAdvice,
      page: 'spread-keys',
    },
    'maybe-append-key': {
      problem: ({ key, property }) =>
        `The ${key} begins with '${property}'. If its values grow with time, each insert follows ` +
        `the last one, and ${nodeOfRange}.`,
      advice: ({ property }) =>
        `Say in the workload how '${property}' goes: order 'increasing' or 'random'.`,
      page: 'spread-keys',
    },
    'entity-too-large': {
      problem: ({ bytes, limit }) =>
        `An entity may take ${byteText(bytes)}, and ${byteText(limit)} fit. It will be refused.`,
      advice: () =>
        'Keep large values in blobs, compressed or in further rows; or divide the entity.',
      page: 'large-entities',
    },
    'property-too-large': {
      problem: ({ property, bytes, limit }) =>
        `'${property}' may take ${byteText(bytes)}, and ${byteText(limit)} fit into a property.`,
      advice: () => 'Store it by the ladder for large values, which ends in a blob.',
      page: 'large-entities',
    },
    'too-many-properties': {
      problem: ({ properties, limit }) =>
        `An entity has ${amount(properties)} properties, and ${amount(limit)} are allowed.`,
      advice: () => 'Divide it over several rows, or keep what is read together as JSON.',
      page: 'wide-entities',
    },
    'key-too-long': {
      problem: ({ key, units, limit }) =>
        `The ${key} may take ${amount(units)} UTF-16 code units, and ${amount(limit)} fit (1 KiB).`,
      advice: () => 'Put an id or a hash of the value into the key instead of the value.',
      page: 'compound-key',
    },
    'transaction-too-many': {
      problem: ({ writes, limit }) =>
        `A transaction writes ${amount(writes)} rows, index rows included; ${amount(limit)} fit.`,
      advice: () =>
        'Make it smaller, or state the intent in a message or outbox row and let a worker do it.',
      page: 'eventually-consistent-transactions',
    },
    'transaction-too-large': {
      problem: ({ bytes, limit }) =>
        `A transaction of the largest rows takes ${byteText(bytes)}; less than ${byteText(limit)} fit.`,
      advice: () =>
        'Write fewer or smaller rows at once; bulk() splits where atomicity is not needed.',
      page: 'eventually-consistent-transactions',
    },
    'table-scan': {
      problem: (figures) => `Every partition of the table is read: ${scan(figures)}`,
      advice: () => 'Give the partition, or keep an index whose key is what the query knows.',
      page: 'inter-partition-index',
    },
    'wide-scan': {
      problem: (figures) => `Many rows are read for few that are wanted: ${scan(figures)}`,
      advice: () => 'Put what the query knows into the RowKey, or keep an index in the partition.',
      page: 'intra-partition-index',
    },
    'index-not-used': {
      problem: ({ index, property }) =>
        `It compares '${property}', which the index '${index}' has as its key, and reads the rows ` +
        'instead of the index: the service has no indexes of its own.',
      advice: ({ index }) => `Ask the index '${index}' by name.`,
      page: 'inter-partition-index',
    },
    'unselective-index': {
      problem: ({ values, share, rowsPerLookUp }) =>
        `It has ${counted(values, 'value')}: a look-up finds ${percent(share)} of all rows, ` +
        `${amount(rowsPerLookUp)} of them, and a scan reads little more.`,
      advice: () =>
        'Leave it out, or make its key of two properties, such as the town and the last name.',
      page: 'index-tables',
    },
    'skewed-index': {
      problem: ({ value, share, rows }) =>
        `${value} is on ${percent(share)} of the rows, ${amount(rows)} of them: for it the index is ` +
        'a second table, and one partition of it takes nearly all writes.',
      advice: () =>
        'Make the index sparse: leave the frequent value out, and look it up by a scan.',
      page: 'index-tables',
    },
    'large-index-row': {
      problem: ({ entries, bytes, limit }) =>
        `The list of the most frequent value has ${counted(entries, 'entry', 'entries')} and takes ` +
        `${byteText(bytes)}; a row holds ${byteText(limit)}. It goes on in further rows, and each ` +
        'change of it reads and writes some of them.',
      advice: () => 'Use one index row an entity for such values, or keep the list in a blob.',
      page: 'index-entities',
    },
    'volatile-copy': {
      problem: ({ changesPerSecond, lookUpsPerSecond, copied }) =>
        `It copies ${counted(copied, 'property', 'properties')} of entities that change ` +
        `${counted(changesPerSecond, 'time')} a second and are looked up ` +
        `${counted(lookUpsPerSecond, 'time')}: each change is written twice, and that saves a read ` +
        'now and then.',
      advice: () =>
        'Copy only what seldom changes, or nothing, and read the entity after the look-up.',
      page: 'index-tables',
    },
    'unused-index': {
      problem: ({ writesPerSecond, bytes }) =>
        `No operation of the workload reads it. It costs ${amount(writesPerSecond)} writes/s and ` +
        `${byteText(bytes)}.`,
      advice: () => 'Leave it out; it can be built later, on the live table.',
      page: 'index-maintenance',
    },
    'sizes-assumed': {
      problem: ({ properties, units }) =>
        `No size is known of ${properties}; ${amount(units)} characters or bytes were taken.`,
      advice: () => 'Give sizes in the workload, or measure a live table.',
      page: 'advisor',
    },
    'reads-assumed': {
      problem: ({ rows }) =>
        'Nothing tells how many rows its range of RowKeys has; the whole partition was taken, ' +
        `${counted(rows, 'row')}.`,
      advice: () => 'Give `reads` for the operation, or `values` for the properties in the RowKey.',
      page: 'advisor',
    },
    'partial-measurement': {
      problem: ({ of }) =>
        `The distribution of ${of} was measured on a part of the table and taken for the whole.`,
      advice: () => 'Measure a larger sample, or from several places in the key range.',
      page: 'advisor',
    },
  },
);

function keyMotion(
  { key, property, insertsPerSecond, share, target }: KeyMotionFigures,
  where: string,
): string {
  const inserts = `${amount(insertsPerSecond * share)} inserts/s and is good for ${amount(target)}`;
  return key === 'PartitionKey'
    ? `The PartitionKey grows with '${property}': each insert goes ${where} the last one, and ` +
        `${nodeOfRange}. It gets ${inserts}.`
    : `The RowKey grows with '${property}' in one partition that takes ${percent(share)} of the ` +
        `inserts: each goes ${where} the last one. It gets ${inserts}.`;
}

function keyMotionAdvice({ key, property }: KeyMotionFigures): string {
  return key === 'PartitionKey'
    ? `Use a compound key: lead with what spreads, such as the department and the employee, and put ` +
        `'${property}' into the RowKey. Or put a bucket in front and read the buckets together.`
    : `Put what spreads into the PartitionKey, or a bucket; '${property}' can stay in the RowKey.`;
}

function scan({ perSecond, entitiesRead, entitiesReturned, requests }: ScanFigures): string {
  return (
    `${amount(entitiesRead)} entities for ${amount(entitiesReturned)}, in ` +
    `${counted(requests, 'request')}, ${counted(perSecond, 'time')} a second.`
  );
}
