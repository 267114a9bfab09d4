// The code under test: orders in a table, and a queue that says that there is work.
import { RestError, type TableClient } from '@azure/data-tables';
import type { QueueClient } from '@azure/storage-queue';

export interface Order {
  readonly customer: string;
  readonly id: string;
  readonly total: number;
}

export class Orders {
  readonly #table: TableClient;
  readonly #queue: QueueClient;

  constructor(table: TableClient, queue: QueueClient) {
    this.#table = table;
    this.#queue = queue;
  }

  /** Placing an order again changes nothing: the client may repeat what it got no answer to. */
  async place({ customer, id, total }: Order): Promise<void> {
    try {
      await this.#table.createEntity({ partitionKey: customer, rowKey: id, total });
    } catch (error) {
      if (!(error instanceof RestError) || error.statusCode !== 409) throw error;
    }
    await this.#queue.sendMessage(JSON.stringify({ customer, id }));
  }

  async totalOf(customer: string): Promise<number> {
    let sum = 0;
    const filter = `PartitionKey eq '${customer.replaceAll("'", "''")}'`;
    for await (const { total } of this.#table.listEntities<Order>({ queryOptions: { filter } })) {
      sum += total;
    }
    return sum;
  }
}
