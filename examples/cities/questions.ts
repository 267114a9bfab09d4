import { odata, type TableClient } from '@azure/data-tables';

export interface Question {
  /** What the server has to read for it, from least to most. */
  readonly title: string;
  readonly filter: string;
}

export const questions: readonly Question[] = [
  {
    title: 'Point: one city by its whole key',
    filter: odata`PartitionKey eq ${'FR'} and RowKey eq ${'Paris|2988507'}`,
  },
  {
    title: 'Range: Spanish cities whose names begin with Santa',
    filter: odata`PartitionKey eq ${'ES'} and RowKey ge ${'Santa'} and RowKey lt ${'Santb'}`,
  },
  {
    title: 'Partition scan: Japanese cities of more than 1,500,000 people',
    filter: odata`PartitionKey eq ${'JP'} and population gt ${1_500_000}`,
  },
  {
    title: 'Table scan: cities of more than 12,000,000 people anywhere',
    filter: odata`population gt ${12_000_000}`,
  },
];

export interface FoundCity {
  readonly country: string;
  readonly name: string;
  readonly population: number;
}

export interface Answer {
  readonly cities: readonly FoundCity[];
  readonly pages: number;
  /** The plan of the first page, as the server tells it in a header of its own. */
  readonly plan: string;
  readonly milliseconds: number;
}

/** Asks one question and follows all its pages. */
export async function ask(client: TableClient, question: Question): Promise<Answer> {
  const plans: string[] = [];
  const cities: FoundCity[] = [];
  const start = performance.now();
  const found = client.listEntities<{ name: string; population: number }>({
    queryOptions: { filter: question.filter },
    onResponse: (response) => plans.push(response.headers.get('x-tabularium-plan') ?? 'unknown'),
  });
  for await (const { partitionKey = '', name, population } of found) {
    cities.push({ country: partitionKey, name, population });
  }
  const milliseconds = performance.now() - start;
  return { cities, pages: plans.length, plan: plans[0] ?? 'unknown', milliseconds };
}
