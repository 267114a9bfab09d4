/** How far a restore is. */
export interface RestoreProgress {
  /** `checking`: the files are read, and nothing is written yet. `writing`: rows are written. */
  readonly step: 'checking' | 'writing';
  readonly shard: string;
  readonly table: string;
  /** Rows of all tables that the step is done with, and those of the backup. */
  readonly rows: number;
  readonly of: number;
}

/** A backup: its shard, and the rows of each table. */
interface RowCounts {
  readonly shard: string;
  readonly tables: Readonly<Record<string, number>>;
}

/** Progress is reported once for this many rows, and after each table. */
export const rowsPerReport = 1000;

/** Tells how far one step of a restore is, whose tables follow one another. */
export class RestoreLog {
  readonly #tell: (table: string, rows: number) => void;
  /** Rows of the tables before this one. */
  #before = 0;
  #told = 0;

  constructor(
    { shard, tables }: RowCounts,
    step: RestoreProgress['step'],
    onProgress: ((progress: RestoreProgress) => void) | undefined,
  ) {
    const of = Object.values(tables).reduce((sum, rows) => sum + rows, 0);
    this.#tell = (table, rows) => {
      this.#told = rows;
      onProgress?.(Object.freeze({ step, shard, table, rows, of }));
    };
  }

  /** So many rows of a table are done. */
  note(table: string, rows: number): void {
    const all = this.#before + rows;
    if (all - this.#told >= rowsPerReport) this.#tell(table, all);
  }

  /** All of its rows are. */
  end(table: string, rows: number): void {
    this.#before += rows;
    this.#tell(table, this.#before);
  }
}
