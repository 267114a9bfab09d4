import { codecOf } from '../definition/codec.js';
import type { AnyDefinition } from '../definition/entity-definition.js';
import { rangeWithPrefix, type KeyRange, type KeyTemplate } from '../definition/key-template.js';
import type { KeyOf, ReadOf } from '../definition/shapes.js';
import type { Stored } from '../definition/stored-entity.js';
import { DefinitionError } from '../rows/model-error.js';
import { Entities, type EntitiesOptions } from '../table/entities.js';
import type { TableGateway } from '../table/gateway.js';
import { planOf } from '../table/query-plan.js';
import { RowsQuery } from '../table/query.js';

/** An entity, with the entities whose keys begin with its key. */
export interface Family<P extends AnyDefinition, C extends AnyDefinition> {
  /** Undefined when there is none, for example because it was deleted before its children. */
  readonly parent: Stored<ReadOf<P>> | undefined;
  /** In the order of their RowKeys. */
  readonly children: readonly Stored<ReadOf<C>>[];
}

/**
 * Entities whose RowKeys extend those of another type, such as the reviews of an employee by year:
 * `empid_000123_2012` beside `empid_000123`. One range read finds an employee with all reviews.
 */
export class CompoundKey<P extends AnyDefinition, C extends AnyDefinition> {
  readonly parents: Entities<P>;
  readonly children: Entities<C>;
  readonly #table: TableGateway;

  /**
   * Throws `DefinitionError` unless both have the same PartitionKey and the RowKey of the child
   * begins with the RowKey of the parent and continues: same texts, same properties, same widths.
   * The parent's must end in a value of fixed width or in a text, or it could be the beginning of
   * other parents' keys, or be the key of another's child. Sends nothing.
   */
  constructor(parent: P, child: C, table: TableGateway, options?: EntitiesOptions) {
    checkTemplates(parent, child);
    this.parents = new Entities(parent, table, options);
    this.children = new Entities(child, table, options);
    this.#table = table;
  }

  /**
   * The range of RowKeys of a parent and its children, such as `empid_000123` up to `empid_000124`.
   * No other parents or children are in it. Sends nothing.
   */
  range(parentKey: KeyOf<P>): KeyRange {
    const { rowKey } = codecOf(this.parents.definition).key(parentKey);
    return rangeWithPrefix(rowKey);
  }

  /**
   * A parent and all its children. One range read per 1,000 of them. Throws `ModelError` beyond
   * `childrenMax` children, 10,000 when absent: iterate over `children.query` then.
   */
  async family(
    parentKey: KeyOf<P>,
    { childrenMax = 10_000 }: { readonly childrenMax?: number } = {},
  ): Promise<Family<P, C>> {
    const parentCodec = codecOf(this.parents.definition);
    const childCodec = codecOf(this.children.definition);
    const { partitionKey, rowKey } = parentCodec.key(parentKey);
    const plan = planOf('range', [{ partitionKey, rowKey: this.range(parentKey) }]);
    const rows = new RowsQuery(this.#table, plan, (row) => row);
    let parent: Stored<ReadOf<P>> | undefined;
    const children: Stored<ReadOf<C>>[] = [];
    for (const row of await rows.toArray({ max: childrenMax + 1 })) {
      if (row.rowKey === rowKey) parent = parentCodec.fromRow(row);
      else if (childCodec.matches(row)) children.push(childCodec.fromRow(row));
    }
    return { parent, children };
  }
}

function checkTemplates(parent: AnyDefinition, child: AnyDefinition): void {
  if (!isSame(parent.partitionKey, child.partitionKey)) {
    throw new DefinitionError(
      `${child.type} has other PartitionKeys than ${parent.type}: no range has both`,
    );
  }
  if (!beginsWith(child.rowKey, parent.rowKey) || !goesOn(child.rowKey, parent.rowKey)) {
    throw new DefinitionError(
      `the RowKey of ${child.type} does not begin with the RowKey of ${parent.type} and go on`,
    );
  }
  const { parts, texts } = parent.rowKey;
  const last = parts.at(-1);
  if (texts.at(-1) !== '' || last === undefined || last.format.width !== undefined) return;
  throw new DefinitionError(
    `the RowKey of ${parent.type} ends in '${last.property}' of any length, so others' keys ` +
      'may begin with it: give it a fixed width, or end both keys there with a text such as _',
  );
}

/** Whether something always follows the end of the shorter key, whatever the values are. */
function goesOn(long: KeyTemplate, short: KeyTemplate): boolean {
  const { length } = short.parts;
  const isTextLonger = (long.texts[length] ?? '').length > (short.texts[length] ?? '').length;
  return isTextLonger || long.parts[length]?.format.width !== undefined;
}

function isSame(left: KeyTemplate, right: KeyTemplate): boolean {
  return (
    left.parts.length === right.parts.length &&
    beginsWith(left, right) &&
    left.texts.at(-1) === right.texts.at(-1)
  );
}

function beginsWith(long: KeyTemplate, short: KeyTemplate): boolean {
  const { parts, texts } = short;
  const sameParts = parts.every(({ property, format: { width } }, index) => {
    const part = long.parts[index];
    return part?.property === property && part.format.width === width;
  });
  const sameTexts = texts.every((text, index) =>
    index === parts.length
      ? (long.texts[index] ?? '').startsWith(text)
      : long.texts[index] === text,
  );
  return sameParts && sameTexts;
}

/** Two definitions of one table, the second one with a compound key. Sends nothing. */
export function compoundKeyOf<P extends AnyDefinition, C extends AnyDefinition>(
  parent: P,
  child: C,
  table: TableGateway,
  options?: EntitiesOptions,
): CompoundKey<P, C> {
  return new CompoundKey(parent, child, table, options);
}
