import type { TableClient, TransactionAction } from '@azure/data-tables';
import type { City } from './city.js';
import { cityEntity } from './city-entity.js';

/** An entity group transaction takes at most 100 operations, all of one partition. */
const transactionRowsMax = 100;
const transactionsInFlightMax = 8;

function byCountry(cities: readonly City[]): Map<string, City[]> {
  const groups = new Map<string, City[]>();
  for (const city of cities) {
    const group = groups.get(city.country);
    if (group === undefined) groups.set(city.country, [city]);
    else group.push(city);
  }
  return groups;
}

/** Cuts the cities into transactions: one country each. */
function* transactions(cities: readonly City[]): Generator<TransactionAction[]> {
  for (const ofCountry of byCountry(cities).values()) {
    for (let first = 0; first < ofCountry.length; first += transactionRowsMax) {
      const group = ofCountry.slice(first, first + transactionRowsMax);
      yield group.map((city) => ['create', { ...cityEntity(city) }]);
    }
  }
}

/** Writes all cities; calls `onProgress` with the number of rows so far after every transaction. */
export async function importCities(
  client: TableClient,
  cities: readonly City[],
  onProgress: (rows: number) => void,
): Promise<void> {
  const queue = transactions(cities);
  let rows = 0;
  const work = async (): Promise<void> => {
    for (const transaction of queue) {
      await client.submitTransaction(transaction);
      rows += transaction.length;
      onProgress(rows);
    }
  };
  await Promise.all(Array.from({ length: transactionsInFlightMax }, work));
}
