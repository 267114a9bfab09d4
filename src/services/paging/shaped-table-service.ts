import type { MemoryBudget } from '../../base/async/memory-budget.js';
import { TableService, type TableServiceOptions } from '../tables/table-service.js';
import type { EntityPage, EntityQuery, TablePage, TableQuery } from '../tables/types.js';
import type { PagingPolicy } from './paging-policy.js';
import { shapedEntities } from './shaped-entities.js';
import { shapedTables } from './shaped-tables.js';

/** A table service that shapes its pages by a policy. All other operations are unchanged. */
export class ShapedTableService extends TableService {
  readonly #paging: PagingPolicy;

  constructor(options: TableServiceOptions, paging: PagingPolicy) {
    super(options);
    this.#paging = paging;
  }

  override queryTables(
    account: string,
    query: TableQuery,
    memory?: MemoryBudget,
  ): Promise<TablePage> {
    const shape = this.#paging.shapeOf(['tables', account, query]);
    return shapedTables((plain) => super.queryTables(account, plain, memory), query, shape);
  }

  override queryEntities(
    account: string,
    table: string,
    query: EntityQuery,
    memory?: MemoryBudget,
  ): Promise<EntityPage> {
    // Entities may be cut off later, and a shape depends on what is asked alone.
    const { sink: _sink, ...asked } = query;
    const shape = this.#paging.shapeOf(['entities', account, table, asked]);
    const read = (plain: EntityQuery): Promise<EntityPage> =>
      super.queryEntities(account, table, plain, memory);
    return shapedEntities(read, asked, shape);
  }
}
