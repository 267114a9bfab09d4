import type { MetadataLevel } from './media-type.js';

/** How the entities of a response are rendered (table-service §4). */
export interface RenderContext {
  readonly level: MetadataLevel;
  /** Scheme and authority of the request, and `/account` in path style. */
  readonly base: string;
  readonly account: string;
  /** As spelled in the request. */
  readonly table: string;
  /** Names to show, each once; undefined for all. */
  readonly select: readonly string[] | undefined;
  /** `$select` as sent; undefined when it was not sent. */
  readonly selectText: string | undefined;
}

/** The context for rendering tables. */
export type TableRenderContext = Pick<RenderContext, 'level' | 'base' | 'account' | 'selectText'>;
