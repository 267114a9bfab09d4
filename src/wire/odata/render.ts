import type { Pieces } from '../../base/async/slice.js';
import { jsonText } from '../../model/bag/json-bytes.js';
import type { StoredEntity } from '../../model/edm/value.js';
import { encodeUriText } from '../http/percent.js';
import { EntityWriter } from './entity-writer.js';
import type { RenderContext, TableRenderContext } from './render-context.js';

export type { RenderContext, TableRenderContext } from './render-context.js';

/** A rough size of an entity's JSON besides its bag. */
const entityOverheadBytes = 400;

/** The body that shows one entity: of Get Entity and of Insert Entity. */
export function renderEntity(entity: StoredEntity, context: RenderContext): Buffer {
  const writer = new EntityWriter(context, entity.bag.length + entityOverheadBytes * 3);
  const metadata = metadataMember(context, `${context.table}/@Element`);
  writer.entity(entity, metadata === '' ? '' : `,${metadata}`);
  return writer.result();
}

/** The body of one page of Query Entities. */
export function renderEntities(entities: readonly StoredEntity[], context: RenderContext): Buffer {
  const writer = beginPage(entities, context);
  for (const [index, entity] of entities.entries()) writeRow(writer, entity, index);
  return endPage(writer);
}

/**
 * The same in pieces of one entity, for pages over `bytesAtOnceMax`, so that others can run between
 * pieces.
 */
export function* entitiesInPieces(
  entities: readonly StoredEntity[],
  context: RenderContext,
): Pieces<Buffer> {
  const writer = beginPage(entities, context);
  for (const [index, entity] of entities.entries()) {
    writeRow(writer, entity, index);
    yield;
  }
  return endPage(writer);
}

function beginPage(entities: readonly StoredEntity[], context: RenderContext): EntityWriter {
  const writer = new EntityWriter(context, pageBytes(entities) + entityOverheadBytes * 3);
  writer.raw(`{${leading(metadataMember(context, context.table))}"value":[`);
  return writer;
}

function writeRow(writer: EntityWriter, entity: StoredEntity, index: number): void {
  if (index > 0) writer.comma();
  writer.entity(entity, '');
}

function endPage(writer: EntityWriter): Buffer {
  writer.raw(']}');
  return writer.result();
}

/**
 * The size of a page that is rendered at once: much less than a millisecond's work, because a turn
 * of the event loop costs as much. Shorter pages share a buffer.
 */
export const bytesAtOnceMax = 256 * 1024;

/** The estimated size of a page's body; `$select` may make it longer. */
export function pageBytes(entities: readonly StoredEntity[]): number {
  return entities.reduce((sum, { bag }) => sum + bag.length + entityOverheadBytes, 0);
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
