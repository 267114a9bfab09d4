import type { Edm } from '@azure/data-tables';
import type { City } from './city.js';

/** A city as it is written. The partition is its country. */
export interface CityEntity {
  readonly partitionKey: string;
  readonly rowKey: string;
  readonly name: string;
  readonly population: number;
  readonly latitude: Edm<'Double'>;
  readonly longitude: Edm<'Double'>;
  readonly featureCode: string;
  readonly adminCode: string;
}

/**
 * The name, so that rows lie in the order of names and a range of names is a range of keys; then
 * the id, because names are not unique. Keys cannot contain `/ \ # ?`.
 */
export function cityRowKey(city: City): string {
  return `${city.name.replace(/[/\\#?]/g, '-')}|${city.cityId}`;
}

/** A whole number such as a latitude of 48 must stay a Double: the type is said, not guessed. */
export function cityEntity(city: City): CityEntity {
  const [longitude, latitude] = city.loc.coordinates;
  return {
    partitionKey: city.country,
    rowKey: cityRowKey(city),
    name: city.name,
    population: city.population,
    latitude: { type: 'Double', value: latitude },
    longitude: { type: 'Double', value: longitude },
    featureCode: city.featureCode,
    adminCode: city.adminCode,
  };
}
