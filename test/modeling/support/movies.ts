import { readFileSync } from 'node:fs';
import { defineEntity, double, key, string } from '../../../src/modeling/index.js';
import { extraFile } from '../../support/extras.js';

/**
 * The properties of a movie in `vega-datasets` that tests use. The data set has directors but no
 * actors.
 */
interface RawMovie {
  readonly Title: string | number | null;
  readonly 'Release Date': string;
  readonly 'Major Genre': string | null;
  readonly Director: string | null;
  readonly Distributor: string | null;
  readonly 'IMDB Rating': number | null;
}

export const Movie = defineEntity({
  type: 'Movie',
  properties: {
    genre: string(),
    name: string(),
    /** `yyyy-MM-dd`. Distinguishes movies with the same name. */
    released: string(),
    director: string().optional(),
    distributor: string().optional(),
    rating: double().optional(),
    decade: string().computed(
      { released: string() },
      ({ released }) => `${released.slice(0, 3)}0s`,
    ),
  },
  partitionKey: (p) => key`${p.genre}`,
  rowKey: (p) => key`${p.name}_${p.released}`,
});

export interface MovieData {
  readonly genre: string;
  readonly name: string;
  readonly released: string;
  readonly director?: string;
  readonly distributor?: string;
  readonly rating?: number;
}

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov'];

/** `Jun 12 1998` as `1998-06-12`. */
function dateOf(text: string): string {
  const [month = '', day = '', year = ''] = text.split(' ');
  const number = monthNames.includes(month) ? monthNames.indexOf(month) + 1 : 12;
  return `${year}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}`;
}

/** All 3,201 movies. */
export function readMovies(): readonly MovieData[] {
  const file = extraFile('vega-datasets/data/movies.json');
  const movies = JSON.parse(readFileSync(file, 'utf8')) as readonly RawMovie[];
  return movies.map(movieOf);
}

function movieOf(raw: RawMovie): MovieData {
  const { Director: director, Distributor: distributor } = raw;
  return {
    genre: raw['Major Genre'] ?? 'Unknown',
    name: String(raw.Title ?? ''),
    released: dateOf(raw['Release Date']),
    ...known({ director, distributor, rating: raw['IMDB Rating'] }),
  };
}

type Known<T> = { readonly [N in keyof T]?: NonNullable<T[N]> };

/** Leaves out null values. */
function known<T extends object>(values: T): Known<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null),
  ) as Known<T>;
}
