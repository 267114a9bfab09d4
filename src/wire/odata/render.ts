import type { Pieces } from '../../base/async/slice.js';
import { jsonText } from '../../model/bag/json-bytes.js';
import type { StoredEntity } from '../../model/edm/value.js';
import { encodeUriText } from '../http/percent.js';
import { textEnd } from '../../model/bag/bag.js';
import { bytesAtOnceMax, EntityWriter } from './entity-writer.js';
import type { RenderContext, TableRenderContext } from './render-context.js';

export { bytesAtOnceMax } from './entity-writer.js';
export type { RenderContext, TableRenderContext } from './render-context.js';

/** A rough size of an entity's JSON besides its bag. */
const entityOverheadBytes = 400;

/** The body that shows one entity: of Get Entity and of Insert Entity. */
export function renderEntity(entity: StoredEntity, context: RenderContext): Buffer {
  const writer = EntityWriter.start(context, entity.bag.length + entityOverheadBytes * 3);
  const metadata = metadataMember(context, `${context.table}/@Element`);
  writer.entity(entity, metadata === '' ? '' : `,${metadata}`);
  return writer.result();
}

/**
 * The body of one page of Query Entities, written while the page is read. It takes entities up to
 * `bytesAtOnceMax`; those that follow are written when it is ended, in pieces.
 */
export class EntityPageBody {
  readonly #context: RenderContext;
  /** Besides its bag. */
  readonly #bytesEach: number;
  #writer: EntityWriter | undefined;
  #bytes = 0;
  #count = 0;

  /** `nullBytes`: what selected names take that an entity lacks. */
  constructor(context: RenderContext, nullBytes: number) {
    this.#context = context;
    this.#bytesEach = entityOverheadBytes + nullBytes;
  }

  /**
   * Whether an entity with a bag of `bagBytes` bytes still fits into the part that is rendered at
   * once.
   */
  accepts(bagBytes: number): boolean {
    return this.#bytes + bagBytes + this.#bytesEach <= bytesAtOnceMax;
  }

  /** Writes the next entity. Its bag may be followed by other bytes. */
  take(entity: StoredEntity): void {
    this.#bytes += this.#bytesOf(entity);
    this.#write(entity);
  }

  /** The estimated size of the body when these follow. */
  bytesWith(rest: readonly StoredEntity[]): number {
    return rest.reduce((sum, entity) => sum + this.#bytesOf(entity), this.#bytes);
  }

  /** The whole body. Nothing can be added afterwards. */
  endWith(rest: readonly StoredEntity[]): Buffer {
    for (const entity of rest) this.#write(entity);
    return this.#end();
  }

  /** The whole body, in pieces of one entity, so that other work can run between them. */
  *endInPieces(rest: readonly StoredEntity[]): Pieces<Buffer> {
    this.#started().expect(this.bytesWith(rest) - this.#bytes);
    for (const entity of rest) {
      this.#write(entity);
      yield;
    }
    return this.#end();
  }

  #bytesOf({ bag }: StoredEntity): number {
    return textEnd(bag) + this.#bytesEach;
  }

  #write(entity: StoredEntity): void {
    const writer = this.#started();
    if (this.#count > 0) writer.comma();
    this.#count += 1;
    writer.entity(entity, '');
  }

  #end(): Buffer {
    const writer = this.#started();
    writer.raw(']}');
    return writer.result();
  }

  #started(): EntityWriter {
    return (this.#writer ??= this.#start());
  }

  #start(): EntityWriter {
    const context = this.#context;
    const writer = EntityWriter.start(context, entityOverheadBytes * 3);
    writer.raw(`{${leading(metadataMember(context, context.table))}"value":[`);
    return writer;
  }
}

/** The body that shows one table: of Create Table and of a get by name. */
export function renderTable(name: string, context: TableRenderContext): Buffer {
  const metadata = leading(metadataMember(context, 'Tables/@Element'));
  return Buffer.from(`{${metadata}${tableMembers(name, context)}}`);
}

/** The body of one page of Query Tables. */
export function renderTables(
  tables: readonly { readonly name: string }[],
  context: TableRenderContext,
): Buffer {
  const metadata = leading(metadataMember(context, 'Tables'));
  const items = tables.map(({ name }) => `{${tableMembers(name, context)}}`);
  return Buffer.from(`{${metadata}"value":[${items.join(',')}]}`);
}

/** A member followed by others. */
function leading(member: string): string {
  return member === '' ? '' : `${member},`;
}

/** `"odata.metadata":"…"` or nothing. */
function metadataMember(context: TableRenderContext, fragment: string): string {
  if (context.level === 'none') return '';
  const suffix =
    context.selectText === undefined ? '' : `&$select=${encodeUriText(context.selectText)}`;
  return `"odata.metadata":"${jsonText(`${context.base}/$metadata#${fragment}${suffix}`)}"`;
}

function tableMembers(name: string, context: TableRenderContext): string {
  const member = `"TableName":"${jsonText(name)}"`;
  if (context.level !== 'full') return member;
  const path = `Tables('${jsonText(name)}')`;
  const type = `"odata.type":"${jsonText(context.account)}.Tables"`;
  return `${type},"odata.id":"${jsonText(context.base)}/${path}","odata.editLink":"${path}",${member}`;
}
