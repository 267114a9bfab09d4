import { fittingLocations } from '../../wire/http/header-block.js';
import { contentType, type MetadataLevel } from '../../wire/odata/media-type.js';
import type { RenderContext, TableRenderContext } from '../../wire/odata/render.js';
import type { Reply } from '../exchange/service.js';
import type { TableRequest } from './request.js';

/** The headers of every successful OData answer (table-service §10.1). */
export function odataHeaders(): string[] {
  return ['Cache-Control', 'no-cache', 'X-Content-Type-Options', 'nosniff'];
}

export function jsonReply(status: number, level: MetadataLevel, body: Buffer): Reply {
  const headers = odataHeaders();
  headers.push('Content-Type', contentType(level));
  return { status, headers, body };
}

export function noContentReply(): Reply {
  return { status: 204, headers: odataHeaders() };
}

/** The context for rendering entities. */
export function renderContext(
  request: TableRequest,
  view: {
    readonly table: string;
    readonly level: MetadataLevel;
    readonly select?: readonly string[] | undefined;
    readonly selectText?: string | undefined;
  },
): RenderContext {
  return {
    level: view.level,
    base: request.exchange.base,
    account: request.account,
    table: view.table,
    select: view.select,
    selectText: view.selectText,
  };
}

/** The context for rendering tables. */
export function tableRenderContext(
  request: TableRequest,
  level: MetadataLevel,
  selectText?: string,
): TableRenderContext {
  return { level, base: request.exchange.base, account: request.account, selectText };
}

/** Name, value, …: the location headers, as far as they fit. */
export function locationHeaders(location: string, form: 'with-id' | 'alone'): string[] {
  const headers: string[] = [];
  const wanted = form === 'with-id' ? withId : alone;
  for (const name of fittingLocations(location, wanted)) headers.push(name, location);
  return headers;
}

const withId = ['Location', 'DataServiceId'] as const;
const alone = ['Location'] as const;
